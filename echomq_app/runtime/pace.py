"""How long jobs run, and so how many may be claimed ahead of a free slot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

WINDOW_S: Final = 0.05
"""Jobs are claimed ahead when they will start within so long, and given back when they did not."""
MOST_AHEAD: Final = 256
FEWEST_RUNS: Final = 8
"""Runs to see before anything is claimed ahead."""
_WEIGHT: Final = 1 / 8
_SHORTEST_S: Final = 1e-6


@dataclass(slots=True)
class Pace:
    """A running mean of run times, the newest counting most. ``slots``: jobs that run at a time."""

    slots: int
    _mean_s: float = field(default=0.0, init=False)
    _seen: int = field(default=0, init=False)

    def ran(self, seconds: float) -> None:
        """A job ran for so long, whatever came of it."""
        self._seen += 1
        if self._seen == 1:
            self._mean_s = seconds
        else:
            self._mean_s += (seconds - self._mean_s) * _WEIGHT

    def stumbled(self) -> None:
        """Jobs waited for too long: what was measured does not tell how long jobs run now."""
        self._seen = 0

    @property
    def ahead(self) -> int:
        """How many more jobs than slots will have started within the window."""
        if self._seen < FEWEST_RUNS:
            return 0
        return min(MOST_AHEAD, int(self.slots * WINDOW_S / max(self._mean_s, _SHORTEST_S)))
