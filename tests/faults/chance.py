"""The chance of a random run, which a seed can bring back, and how long runs are."""

from __future__ import annotations

import os
import random
import sys
from typing import Final

SEED: Final = "EMQ_SEED"
SOAK: Final = "EMQ_SOAK"


def new_chance() -> random.Random:
    """A generator whose seed is told; ``EMQ_SEED`` chooses it."""
    seed = os.environ.get(SEED) or str(random.SystemRandom().randrange(10**9))
    sys.stdout.write(f"{SEED}={seed}\n")
    return random.Random(seed)


def times(usual: int) -> int:
    """``usual``, or ten times that when ``EMQ_SOAK`` is set."""
    return usual * 10 if os.environ.get(SOAK) else usual
