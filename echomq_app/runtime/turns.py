"""Whose turn it is to tick a worker: its loop's thread, or a job's thread that has just ended one."""

from __future__ import annotations

import threading

from echomq_app.runtime.threads import Bell
from echomq_app.runtime.worker import Worker


class Turns:
    """Ticks a worker from any thread, one at a time.

    A job's thread that has reason to takes the turn itself: to wake the loop's thread for it would
    cost two switches of threads a job. That one waits, and is woken when its wait changes.
    """

    def __init__(self, worker: Worker, bell: Bell) -> None:
        self._worker = worker
        self._bell = bell
        self._lock = threading.Lock()
        self._asked = False
        self._error: BaseException | None = None
        self._pause: float | None = 0.0
        self._wakes_at = 0.0
        self._parked = False

    def take(self, woken: set[str]) -> float | None:
        """Tick in the loop's thread; seconds to wait, ``None`` when the worker is done."""
        while True:
            with self._lock:
                self._tick(woken)
                if self._error is not None:
                    raise self._error
                pause = self._pause
                self._wakes_at = self._worker.now() + (pause or 0.0)
                self._parked = self._worker.may_park
            if not self._asked or pause is None:
                return pause
            woken = set()

    def offer(self) -> None:
        """Tick in a job's thread, unless another thread does: that one ticks once more then."""
        self._asked = True
        while self._asked and self._lock.acquire(blocking=False):
            try:
                self._tick(set())
                if self._is_news():
                    self._bell.ring()
            finally:
                self._lock.release()

    def _is_news(self) -> bool:
        """Whether the loop's thread would wait otherwise than it does."""
        if self._error is not None or self._pause is None:
            return True
        sooner = self._worker.now() + self._pause < self._wakes_at
        return sooner or (self._worker.may_park and not self._parked)

    def _tick(self, woken: set[str]) -> None:
        if self._error is not None or self._pause is None:
            return
        self._asked = False
        try:
            self._pause = self._worker.tick(woken)
            while self._pause == 0.0 or (self._asked and self._pause is not None):
                self._asked = False
                self._pause = self._worker.tick()
        except BaseException as error:  # noqa: BLE001  # the loop's thread raises it
            self._error = error
