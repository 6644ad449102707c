"""Runs jobs in threads and rings a bell as each one ends."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from queue import Empty, SimpleQueue
from time import monotonic
from traceback import format_exception
from typing import Final

from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Ended, Failed, Outcome

Run = Callable[[Held], Outcome]
TRIES: Final = 5
PAUSE: Final = timedelta(seconds=10)


class Bell:
    """A descriptor that is readable after ``ring``: wakes a thread that waits in ``select``."""

    def __init__(self) -> None:
        self._listener, self._ringer = socket.socketpair()
        self._listener.setblocking(False)
        self._ringer.setblocking(False)
        self._rung = False

    def fileno(self) -> int:
        return self._listener.fileno()

    def ring(self) -> None:
        """Never fails: a bell that rings already is left alone, and to a closed one nobody listens."""
        if not self._rung:
            self._rung = True
            with suppress(OSError):
                self._ringer.send(b"!")

    def hush(self) -> None:
        """Take all rings so far. What they were rung for is looked at after this, not before."""
        self._rung = False
        with suppress(BlockingIOError):
            while self._listener.recv(4096):
                pass

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
        self.call = bell.ring
        self._waiting: SimpleQueue[Held | None] = SimpleQueue()
        self._ended: deque[Ended] = deque()
        self.ring_after = 1
        self._threads = [
            threading.Thread(target=self._work, name=f"emq-{number}", daemon=True)
            for number in range(size)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, jobs: Iterable[Held]) -> None:
        for held in jobs:
            self._waiting.put(held)

    def finished(self) -> list[Ended]:
        """What ended since the last call, in the order in which it did."""
        ended = self._ended
        return [ended.popleft() for _ in range(len(ended))]

    def take_back(self) -> list[Held]:
        """The jobs that no thread has begun; none of them will run here."""
        taken: list[Held] = []
        with suppress(Empty):
            while (held := self._waiting.get_nowait()) is not None:
                taken.append(held)
        return taken

    def _work(self) -> None:
        take, waiting, ended = self._waiting.get, self._waiting, self._ended
        ours = threading.get_ident()
        while (held := take()) is not None:
            held.thread = ours
            held.started_at = began = monotonic()
            try:
                outcome = self._run(held)
            except BaseException as error:
                outcome = _could_not_run(error)
            ended.append(Ended(held, outcome, monotonic() - began))
            if len(ended) >= self.ring_after or waiting.empty():
                self.call()

    def close(self) -> None:
        """Let idle threads go; running ones end with the process."""
        for _ in self._threads:
            self._waiting.put(None)


def _could_not_run(error: BaseException) -> Failed:
    return Failed(
        error="".join(format_exception(error)), report=None, delay=PAUSE, max_attempts=TRIES
    )
