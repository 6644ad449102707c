"""The site's settings, in a process whose wall clock jumps by up to a day at every look."""

from __future__ import annotations

import random
import time
from typing import Final

from tests.processes.site.settings import *  # noqa: F403 - every setting, under another clock

DAY_S: Final = 86_400
_true = time.time


def _jumping() -> float:
    return _true() + random.uniform(-DAY_S, DAY_S)


time.time = _jumping
time.time_ns = lambda: int(_jumping() * 1_000_000_000)
