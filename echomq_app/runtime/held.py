"""A job in a worker's hands: its lease, and whether the lease is still ours."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from echomq_app.runtime.cancel import Cancellation
from echomq_app.service.records import Lease


class Loss:
    """Whether a lease is lost: by the server's word, or because it was not renewed in its time.

    The second needs no loop: a task that asks is told in time though the worker waits for a server
    that does not answer. Once lost is lost: what a task was told is not taken back.
    """

    __slots__ = ("_event", "_kept", "_lost", "_now", "until")

    def __init__(
        self,
        until: float,
        now: Callable[[], float] = time.monotonic,
        kept: Callable[[], float] | None = None,
    ) -> None:
        """``until``: when the lease ends unless it is renewed, on the clock ``now``, in seconds.

        ``kept``: until when somebody else has renewed it; asked when it seems to have ended.
        """
        self.until = until
        self._now = now
        self._kept = kept
        self._lost = False
        self._event: threading.Event | None = None
        """Made for the first task that waits: most never do."""

    def set(self) -> None:
        self._lost = True
        if self._event is not None:
            self._event.set()

    def is_set(self) -> bool:
        if not self._lost and self._now() >= self.until and not self._is_kept():
            self.set()
        return self._lost

    def _is_kept(self) -> bool:
        if self._kept is not None:
            self.until = max(self.until, self._kept())
        return self._now() < self.until

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the loss; whether it has come."""
        with _making:
            event = self._event = self._event or threading.Event()
        end = self._now() + seconds
        while not self.is_set() and (left := min(end, self.until) - self._now()) > 0:
            event.wait(left)
        return self.is_set()


class Keeper(Protocol):
    """Whoever keeps the leases of a worker that cannot, because a task holds the interpreter."""

    def hold(self, held: Iterable[Held]) -> None:
        """These are all the leases held: told before their jobs start."""

    def beat(self, held: Iterable[Held]) -> None:
        """The worker has come round its loop, and holds these."""

    def kept(self, job_id: str) -> float:
        """Until when a lease was renewed, on the worker's clock; 0 when it was not."""


_making = threading.Lock()


@dataclass(slots=True, eq=False)
class Held:
    """One job that was claimed. Times are the worker's monotonic clock, in seconds."""

    lease: Lease
    claimed_at: float
    lost: Loss
    """When it is set another worker may hold the job: a settle would be refused."""
    started_at: float | None = None
    """``None`` while it waits for a free thread."""
    thread: int | None = None
    """The thread that runs it."""
    _cancellation: Cancellation | None = field(default=None, init=False)

    @property
    def cancellation(self) -> Cancellation:
        """Whether somebody asked the job to stop. Made for the first who wants to know or asks."""
        if self._cancellation is None:
            with _cancelling:
                if self._cancellation is None:
                    self._cancellation = Cancellation()
        return self._cancellation


_cancelling = threading.Lock()
