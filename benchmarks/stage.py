"""What a run stands on: one server, one folder, the contenders' producers, and their workers."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, Self

from benchmarks import place, tally
from benchmarks.contender import Contender
from benchmarks.processes import Producer, Worker
from echomq_app.runtime.embedded.options import DEFAULT_OPTIONS
from tests.servers.engines import DEFAULT, engine
from tests.servers.process import private_folder
from tests.servers.running import Running
from tests.servers.server import Server

LISTPACK = "hash-max-listpack-value"
EMBEDDED_LISTPACK = int(DEFAULT_OPTIONS[LISTPACK])
OPTIONS = (f"--{LISTPACK}", str(EMBEDDED_LISTPACK))
"""As the embedded server is started, but for persistence: every contender writes to memory alone."""
LOOK_S = 0.002
WARMS_S = 30.0


class Stuck(RuntimeError):
    """A contender did not do in time what a question waits for."""


class Traffic(NamedTuple):
    """Commands that clients sent, and commands that ran inside scripts."""

    sent: int
    inside: int


class Stage(Running):
    """A context manager that leaves no process and no file behind."""

    def __init__(self, scale: float = 1.0) -> None:
        """``scale`` shrinks how much every question sends and how long it looks."""
        self._scale = scale
        self.server = Server(engine(DEFAULT), *OPTIONS)
        self.folder = private_folder()
        self.tally = tally.Tally(self.folder / "tally")
        self._producers: dict[str, Producer] = {}
        self._logs = 0

    def start(self) -> Self:
        self.server.start()
        return self

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close()
        self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def scaled(self, amount: float) -> float:
        """A span, or a number of jobs, as large as this run wants it."""
        return amount * self._scale

    def many(self, count: float) -> int:
        """So many jobs, scaled; one at least."""
        return max(1, round(self.scaled(count)))

    def clear(self) -> None:
        """An empty server and an empty tally."""
        self.server.flush()
        self.tally.clear()

    def environment(self, contender: Contender, slots: int = 1) -> dict[str, str]:
        """What a process of this contender finds in its environment."""
        return place.environment(self.server.url, self.folder, contender.name, slots)

    def producer(self, contender: Contender) -> Producer:
        """The contender's producer, started once a run."""
        found = self._producers.get(contender.name)
        if found is None:
            log = self.folder / f"{contender.name}.producer.log"
            found = Producer(self.environment(contender), log).start()
            self._producers[contender.name] = found
        return found

    def feed(self, contender: Contender, count: int, how: str = "many") -> float:
        """Send ``count`` jobs; the seconds that took."""
        return self.producer(contender).send(how, count)

    def worker(self, contender: Contender, slots: int, copy: int = 0) -> Worker:
        """A worker process that is not started yet."""
        assert contender.worker is not None
        environment = {**self.environment(contender, slots), tally.COPY: str(copy)}
        self._logs += 1
        log = self.folder / f"{contender.name}.{self._logs}.log"
        return Worker(contender.worker(slots), environment, log)

    @contextmanager
    def working(
        self, contender: Contender, slots: int, copies: int = 1
    ) -> Iterator[Sequence[Worker]]:
        """Workers that have each run a job and now idle, on an empty server."""
        self.clear()
        with ExitStack() as stack:
            workers = [
                stack.enter_context(self.worker(contender, slots, copy)) for copy in range(copies)
            ]
            self._warm(contender, workers)
            yield workers

    def _warm(self, contender: Contender, workers: Sequence[Worker]) -> None:
        fed = 0
        deadline = time.monotonic() + WARMS_S
        while len({run.copy for run in self.tally.runs()}) < len(workers):
            if time.monotonic() > deadline:
                raise Stuck(f"{contender.name}: not every worker ran a job\n{workers[0].said()}")
            self.feed(contender, 20 * len(workers))
            fed += 20 * len(workers)
            self.reach(fed, workers, WARMS_S)

    def reach(self, count: int, workers: Sequence[Worker], within: float = 60.0) -> None:
        """Wait until ``count`` jobs have run; ``Stuck`` with the worker's last words."""
        if not self._look(lambda: self.tally.count() >= count, workers, within):
            raise Stuck(
                f"{self.tally.count()} of {count} jobs ran within {within:g} s\n{workers[0].said()}"
            )

    def _look(self, seen: Callable[[], bool], workers: Sequence[Worker], within: float) -> bool:
        deadline = time.monotonic() + within
        while not seen():
            if time.monotonic() > deadline:
                return False
            if not all(one.alive for one in workers):
                raise Stuck(f"a worker ended by itself\n{workers[0].said()}")
            time.sleep(LOOK_S)
        return True

    @contextmanager
    def frozen(self, workers: Sequence[Worker]) -> Iterator[None]:
        """Workers stopped in their tracks, so that a backlog can be laid before them."""
        for one in workers:
            one.send(signal.SIGSTOP)
        try:
            yield
        finally:
            for one in workers:
                one.send(signal.SIGCONT)

    @contextmanager
    def overheard(self) -> Iterator[list[Traffic]]:
        """Count what the server is asked in this block; the list has one item when it ends."""
        found: list[Traffic] = []
        with socket.socket(socket.AF_UNIX) as ear:
            ear.connect(self.server.socket_path)
            ear.sendall(b"MONITOR\r\n")
            ear.recv(16)
            yield found
            mark = os.urandom(8).hex()
            self.server.ask("ECHO", mark)
            found.append(_traffic(ear, mark.encode()))

    def info(self, section: str) -> dict[str, Any]:
        """What the server tells of itself."""
        found: dict[str, Any] = self.server.admin.info(section)
        return found


def _traffic(ear: socket.socket, mark: bytes) -> Traffic:
    sent = inside = 0
    with ear.makefile("rb") as lines:
        for line in lines:
            if mark in line:
                break
            if b" lua]" in line:
                inside += 1
            else:
                sent += 1
    return Traffic(sent, inside)
