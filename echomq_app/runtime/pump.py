"""The pump: gives back what lapsed, moves what is due, forgets what expired, carries what children tell.

Any number may run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from echomq_app.protocol import calls
from echomq_app.protocol.errors import ConnectionLost, FenceMismatch
from echomq_app.protocol.replies import Beat
from echomq_app.runtime.carrying import carry
from echomq_app.runtime.events import Event, Report, silent
from echomq_app.runtime.served import Round, Served
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Answer
from echomq_app.wire.link import Wire

_UNUSED_LEASE_MS = 1


@dataclass(slots=True)
class Pump:
    """Sweeps queues of one server on a beat, one script a queue, all in one pipeline."""

    wire: Wire
    queues: Sequence[Queue]
    beat: timedelta = timedelta(seconds=1)
    batch: int = 100
    report: Report = silent
    now: Callable[[], float] = time.monotonic
    _round: Round = field(init=False)
    _stopped: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._round = Round(self.queues, self.wire.bus.clustered, self.report)

    @property
    def away(self) -> bool:
        """Whether a queue's server did not answer the last tick."""
        return any(one.away for one in self._round)

    @property
    def stopping(self) -> bool:
        return self._stopped

    def stop(self) -> None:
        self._stopped = True

    def tick(self) -> float | None:
        """Sweep every queue; seconds until something is due, ``None`` when stopped.

        A server that was away is only asked whether it is back: workers have one beat to renew what
        they hold before anything is reaped (decision 6). Raises ``FenceMismatch``.
        """
        if self._stopped:
            return None
        batches = [0 if one.away else self.batch for one in self._round]
        sweeps = [
            calls.beat(one.queue.keys, batch=batch, lease=_UNUSED_LEASE_MS, size=0, label="")
            for one, batch in zip(self._round, batches, strict=True)
        ]
        answers = self.wire.answer(sweeps)
        pauses = map(self._take, self._round, batches, answers)
        return min(pauses, default=self.beat.total_seconds())

    def _take(self, served: Served, batch: int, answer: Answer[Beat]) -> float:
        """Tell what came of a sweep; seconds until the queue wants another look."""
        pause = self.beat.total_seconds()
        if isinstance(answer.error, FenceMismatch):
            raise answer.error
        if isinstance(answer.error, ConnectionLost):
            self._round.is_away(served, answer.error, self.now())
            return pause
        self._round.is_back(served, self.now())
        if answer.error is not None:
            self._round.is_broken(served, str(answer.error))
            return pause
        served.broken = ""
        swept = answer.unwrap()
        if swept.reaped or swept.promoted:
            self.report(
                Event.SWEPT,
                queue=served.queue.name,
                reaped=swept.reaped,
                promoted=swept.promoted,
                trimmed=swept.trimmed,
            )
        if batch == 0:
            return pause
        if swept.outbox and carry(self.wire, served, self.report, self.now()):
            return 0.0
        if batch in (swept.reaped, swept.promoted, swept.trimmed):
            return 0.0
        return pause if swept.next_ms is None else min(pause, swept.next_ms / 1000)
