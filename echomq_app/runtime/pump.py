"""The pump: gives back what lapsed, moves what is due, forgets what expired. Any number may run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from echomq_app.protocol import calls
from echomq_app.protocol.errors import ConnectionLost, EchoMQError, FenceMismatch
from echomq_app.protocol.replies import Beat
from echomq_app.runtime.events import Event, Report, silent
from echomq_app.service.queue import Queue
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
    _away_since: float | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)
    _broken: dict[str, str] = field(default_factory=dict, init=False)

    def stop(self) -> None:
        self._stopped = True

    def tick(self) -> float | None:
        """Sweep every queue; seconds until something is due, ``None`` when stopped."""
        if self._stopped:
            return None
        sweeps = [
            calls.beat(one.keys, batch=self.batch, lease=_UNUSED_LEASE_MS, size=0, label="")
            for one in self.queues
        ]
        pause = self.beat.total_seconds()
        for queue, answer in zip(self.queues, self.wire.answer(sweeps), strict=True):
            if isinstance(answer.error, FenceMismatch):
                raise answer.error
            if isinstance(answer.error, ConnectionLost):
                self._server_is_away(answer.error)
            elif answer.error is not None:
                self._tell_broken(queue.name, answer.error)
            else:
                pause = min(pause, self._take(queue.name, answer.unwrap()))
        return pause

    def _take(self, queue: str, swept: Beat) -> float:
        """Tell what moved; seconds until the queue wants another look."""
        self._broken.pop(queue, None)
        if self._away_since is not None:
            self.report(Event.SERVER_BACK, seconds=round(self.now() - self._away_since, 1))
            self._away_since = None
        if swept.reaped or swept.promoted:
            self.report(
                Event.SWEPT,
                queue=queue,
                reaped=swept.reaped,
                promoted=swept.promoted,
                trimmed=swept.trimmed,
            )
        if self.batch in (swept.reaped, swept.promoted, swept.trimmed):
            return 0.0
        return self.beat.total_seconds() if swept.next_ms is None else swept.next_ms / 1000

    def _server_is_away(self, why: Exception) -> None:
        if self._away_since is None:
            self._away_since = self.now()
            self.report(Event.SERVER_AWAY, error=str(why))

    def _tell_broken(self, queue: str, error: EchoMQError) -> None:
        if self._broken.get(queue) != str(error):
            self._broken[queue] = str(error)
            self.report(Event.QUEUE_BROKEN, queue=queue, error=str(error))
