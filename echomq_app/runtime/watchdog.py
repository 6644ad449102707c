"""Sees that a worker's loop is stuck, says so, and ends the process, so that its supervisor restarts it."""

from __future__ import annotations

import logging
import os
import sys
import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NoReturn

from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.survey import stack, tell_in_time, tell_of_worker
from echomq_app.runtime.worker import Worker

STUCK: Final = 70
"""Exit code of a worker whose loop was stuck."""
LONGEST_GAP_S: Final = 5.0
"""More between two looks is time in which the whole process stood still: its loop is not to blame."""
ASKING_FACTOR: Final = 10
"""A loop that waits for a server has bounds of its own; only far beyond them is it stuck."""


@dataclass(slots=True)
class Silence:
    """For how long an instant has not moved, as far as we looked."""

    means: str
    seconds: float = 0.0
    _at: float = 0.0

    def look(self, at: float, gap: float, excused: bool) -> None:
        self.seconds = 0.0 if excused or at != self._at else self.seconds + gap
        self._at = at


class Watchdog:
    """Looks at the pulse of a worker once a second. ``limit``: none watches nothing.

    Stuck is a loop, or a heartbeat, that does not come round, and a loop that does, has free slots
    and a server that answers, and yet does not poll. A server that is away is no reason: the worker
    waits for it.
    """

    def __init__(self, worker: Worker, limit: timedelta | None) -> None:
        self.stuck = ""
        """Why the loop is stuck; empty while it is not."""
        self.seconds = 0.0
        """For how long it has been, as far as we looked."""
        self._worker = worker
        self._limit = limit
        self._looked_at = worker.now()
        self._turns = Silence("its loop does not come round")
        self._beats = Silence("its heartbeat does not come round")
        self._polls = Silence("it has free slots and polls no queue")

    def look(self) -> None:
        """Judge the loop. What it was judged once stays."""
        worker, pulse, now = self._worker, self._worker.pulse, self._worker.now()
        gap = min(now - self._looked_at, LONGEST_GAP_S)
        self._looked_at = now
        if self._limit is None:
            return
        longest = self._limit.total_seconds() * (ASKING_FACTOR if pulse.asking else 1)
        waits = worker.away or pulse.asking
        for silence, at, excused in (
            (self._polls, pulse.polled_at, waits or worker.free == 0),
            (self._beats, pulse.beaten_at, waits),
            (self._turns, pulse.turned_at, False),
        ):
            silence.look(at, gap, excused)
            if silence.seconds > longest:
                self.stuck, self.seconds = silence.means, silence.seconds


def tell_and_end(worker: Worker, watchdog: Watchdog, report: Report) -> NoReturn:
    """Say what is stuck and what runs, in a bounded time, and end the process.

    Its jobs come back by their leases: one of them may be why the loop is stuck, so that counts.
    """

    def tell() -> None:
        loop = sys._current_frames().get(threading.main_thread().ident or 0)
        seconds = round(watchdog.seconds, 1)
        facts = {"name": worker.name, "why": watchdog.stuck, "seconds": seconds}
        report(Event.STUCK, **facts, code=STUCK, stack=stack(loop))
        tell_of_worker(worker, report)
        logging.shutdown()

    tell_in_time(tell)
    os._exit(STUCK)
