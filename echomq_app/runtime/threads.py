"""Runs jobs in threads and rings a bell as each one ends."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from queue import SimpleQueue
from traceback import format_exception
from typing import Final

from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Failed, Outcome

Run = Callable[[Held], Outcome]
TRIES: Final = 5
PAUSE: Final = timedelta(seconds=10)


class Bell:
    """A descriptor that is readable after ``ring``: wakes a thread that waits in ``select``."""

    def __init__(self) -> None:
        self._listener, self._ringer = socket.socketpair()
        self._listener.setblocking(False)
        self._ringer.setblocking(False)

    def fileno(self) -> int:
        return self._listener.fileno()

    def ring(self) -> None:
        """Never fails: a full bell rings already, and to a closed one nobody listens."""
        with suppress(OSError):
            self._ringer.send(b"!")

    def hush(self) -> None:
        """Take all rings so far."""
        try:
            while self._listener.recv(4096):
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        self._listener.close()
        self._ringer.close()


class ThreadExecutor:
    """``size`` threads that run jobs with ``run``; outcomes are taken by ``finished``.

    ``run`` answers an outcome for every job. Should it raise instead, the job is tried again a few
    times and then dead with the traceback: neither its outcome nor the worker is lost.
    """

    def __init__(self, size: int, run: Run, bell: Bell) -> None:
        self._run = run
        self._bell = bell
        self._waiting: SimpleQueue[Held | None] = SimpleQueue()
        self._finished: deque[tuple[Held, Outcome]] = deque()
        self._threads = [
            threading.Thread(target=self._work, name=f"emq-{number}", daemon=True)
            for number in range(size)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, held: Held) -> None:
        self._waiting.put(held)

    def finished(self) -> list[tuple[Held, Outcome]]:
        """Outcomes since the last call, in the order in which they came."""
        taken: list[tuple[Held, Outcome]] = []
        while self._finished:
            taken.append(self._finished.popleft())
        return taken

    def _work(self) -> None:
        while (held := self._waiting.get()) is not None:
            try:
                outcome = self._run(held)
            except BaseException as error:
                outcome = _could_not_run(error)
            self._finished.append((held, outcome))
            self._bell.ring()

    def close(self) -> None:
        """Let idle threads go; running ones end with the process."""
        for _ in self._threads:
            self._waiting.put(None)


def _could_not_run(error: BaseException) -> Failed:
    return Failed(
        error="".join(format_exception(error)), report=None, delay=PAUSE, max_attempts=TRIES
    )
