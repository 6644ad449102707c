"""Ends a process between jobs when it has run enough of them, or has grown too big."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Outcome, Released

WEIGH_EVERY_S: Final = 1.0


class Recycling:
    """``run``, until ``max_jobs`` have run or more than ``max_bytes`` of memory are in use.

    Then ``retire`` is called, once: it lets the worker claim nothing more and leave when what runs has
    ended. Jobs past the last one are given back, uncounted.
    """

    def __init__(
        self,
        run: Callable[[Held], Outcome],
        report: Report,
        *,
        max_jobs: int | None = None,
        max_bytes: int | None = None,
        resident: Callable[[], int] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self.retire: Callable[[], None] = _nothing
        self._report = report
        self._max_jobs = max_jobs
        self._max_bytes = max_bytes
        self._resident = resident or memory_reader() or int
        self._now = now
        self._numbers = itertools.count(1)
        self._weighed_at = -WEIGH_EVERY_S
        self._lock = threading.Lock()
        self.is_due = False
        """Whether the worker leaves to make room for a fresh process."""

    def __call__(self, held: Held) -> Outcome:
        number = next(self._numbers)
        if self._max_jobs is not None and number >= self._max_jobs:
            self._end(jobs=self._max_jobs)
            if number > self._max_jobs:
                return Released()
        outcome = self._run(held)
        if self._max_bytes is not None and self._now() >= self._weighed_at + WEIGH_EVERY_S:
            self._weigh(self._max_bytes)
        return outcome

    def _weigh(self, most: int) -> None:
        self._weighed_at = self._now()
        if (found := self._resident()) > most:
            self._end(memory=found, most=most)

    def _end(self, **why: object) -> None:
        with self._lock:
            first, self.is_due = not self.is_due, True
        if first:
            self._report(Event.RECYCLING, **why)
            self.retire()


def memory_reader() -> Callable[[], int] | None:
    """Reads this process's memory in bytes: what it uses on Linux, its peak elsewhere; ``None``: cannot."""
    if sys.platform == "win32":
        return None
    return _resident if os.path.exists("/proc/self/statm") else _peak


def _resident() -> int:
    with open("/proc/self/statm", "rb", buffering=0) as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _peak() -> int:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _nothing() -> None:
    """Nobody is there yet who could retire."""
