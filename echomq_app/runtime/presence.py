"""Makes a process known beside its queues, and hears what an operator wishes of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from echomq_app.protocol.errors import EchoMQError
from echomq_app.protocol.states import Wish
from echomq_app.runtime.events import Event, Report
from echomq_app.service.workers import WorkerRecord, Workers

EVERY_S: Final = 5.0
"""Five beats: what makes a worker known must cost less than what it is there for."""


class Presence:
    """Registers a process every few seconds, and has it obey what is wished of it.

    That it fails, on a server that is full or away, harms nobody: the process is not listed then,
    and obeys what it heard before.
    """

    def __init__(
        self,
        workers: Workers,
        record: Callable[[], WorkerRecord],
        obey: Callable[[Wish], None],
        report: Report,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workers = workers
        self._record = record
        self._obey = obey
        self._report = report
        self._now = now
        self._due_at = 0.0
        self.heard: Wish | None = None
        """What it obeys by now."""
        self._name = ""

    def look(self) -> None:
        """Register if it is time."""
        if self._now() < self._due_at:
            return
        self._due_at = self._now() + EVERY_S
        record = self._record()
        self._name = record.name
        standing = self.heard if record.kind == "supervisor" else None
        try:
            wish = self._workers.register(record, standing)
        except EchoMQError:
            return
        if wish is not None and wish is not self.heard:
            self.heard = wish
            self._report(Event.WISHED, wish=wish.value)
            self._obey(wish)
            self._due_at = 0.0

    def leave(self) -> None:
        """The process ends as it should: it is listed no more."""
        if self._name:
            with suppress(EchoMQError):
                self._workers.leave(self._name)
