"""What a running task is handed when it takes a context."""

from __future__ import annotations

from dataclasses import dataclass

from echomq_app.compat import TaskContext
from echomq_app.connections import queue_named
from echomq_app.protocol.calls import capped_error
from echomq_app.runtime.cancel import Cancellation
from echomq_app.runtime.held import Held
from echomq_app.service.queue import Queue


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoMQContext(TaskContext):
    """``django.tasks``' context and what a lease adds to it."""

    held: Held

    @property
    def attempt(self) -> int:
        """Which attempt this is, counting from 1; claims that were excused do not count."""
        return self.held.lease.attempt

    @property
    def job_id(self) -> str:
        return self.held.lease.job_id

    @property
    def fence(self) -> int:
        """The claim's token: a later claim of the same job has a higher one. For ``FencedModel``."""
        return self.held.lease.token

    @property
    def lease_lost(self) -> bool:
        """Whether another worker may run this job by now: stop, and write nothing more."""
        return self.held.lost.is_set()

    def wait_lease_lost(self, seconds: float) -> bool:
        """Sleep up to ``seconds``, less when the lease is lost; whether it is."""
        return self.held.lost.wait(seconds)

    @property
    def cancellation(self) -> Cancellation:
        """Whether somebody in this process asked the job to stop: look now and then."""
        return self.held.cancellation

    def progress(self, text: str) -> bool:
        """Note how far the job has come, for operators; ``False`` when the job is gone.

        Text over 8 kB keeps its head and its tail, here and in the log.
        """
        return self._queue().progress(self.job_id, capped_error(str(text)))

    def log(self, line: str) -> None:
        """Append a line to the job's log, which operators read on its page."""
        self._queue().add_log(self.job_id, capped_error(str(line)))

    def _queue(self) -> Queue:
        return queue_named(self.held.lease.queue)
