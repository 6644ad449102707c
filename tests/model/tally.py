"""How far a run of the machine came."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Tally:
    """How far a run came: the examples begun, and the steps taken in the last one."""

    examples: int = 0
    steps: int = 0
