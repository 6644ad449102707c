"""Keeps the demo's processes together: one ends, all end; one signal ends them in order."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

from project.demo.part import Part, Process, Say

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_SECONDS = 10.0


class StopRequested(Exception):
    """A signal asked the demo to end."""


class PartEnded(Exception):
    """A part ended though nobody asked it to; the text says how, with its last lines."""


def manner_of(exit_code: int) -> str:
    """Say in words how a process ended."""
    if exit_code < 0:
        return f"was ended by {signal.Signals(-exit_code).name}"
    return f"ended with exit code {exit_code}"


class Supervisor:
    """Starts groups of parts and waits. On leaving the ``with`` block all of them end.

    What came last ends first, the parts of one group together. A second Ctrl-C, while they
    end, kills what is left.
    """

    def __init__(self, say: Say, grace: float = GRACE_SECONDS) -> None:
        self._say = say
        self._grace = grace
        self._processes: list[Process] = []
        self._endings = ExitStack()
        # SimpleQueue: a signal handler may put while the same thread is inside get.
        self._events: SimpleQueue[Process | None] = SimpleQueue()
        self._ending = False
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Take over the signals, so that none of them cuts a step short."""
        self._handlers = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End everything, the last first, then give the signals back."""
        self._ending = True
        try:
            self._endings.close()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def start(self, *parts: Part) -> list[Process]:
        """Start parts that will end together, before all that came earlier."""
        group: list[Process] = []
        self._endings.callback(self._end, group)
        for part in parts:
            process = Process(part, self._say, self._events.put)
            group.append(process)
            self._processes.append(process)
            self._say(part.name, f"started as process {process.pid}")
        return group

    def run(self, part: Part) -> None:
        """Start a part that ends by itself and wait for it.

        Raises ``PartEnded`` when it fails, or another part is gone, and ``StopRequested``.
        """
        [process] = self.start(part)
        event = self._events.get()
        if event is not process or process.exit_code != 0:
            self._report(event)

    def at_the_end(self, ending: Callable[[], object]) -> None:
        """Have ``ending`` called after everything that comes later has ended."""
        self._endings.callback(ending)

    def wait(self, seconds: float) -> None:
        """Return after ``seconds``, unless something happens.

        Raises ``StopRequested`` after a signal, ``PartEnded`` when a part is gone.
        """
        try:
            event = self._events.get(timeout=seconds)
        except Empty:
            return
        self._report(event)

    def _report(self, event: Process | None) -> NoReturn:
        if event is None:
            raise StopRequested
        assert event.exit_code is not None
        lines = [f"{event.part.name} {manner_of(event.exit_code)}.", *event.last_lines]
        raise PartEnded("\n  ".join(lines))

    def _end(self, group: list[Process]) -> None:
        for process in group:
            process.terminate()
        deadline = time.monotonic() + self._grace
        for process in group:
            process.end_within(max(0.0, deadline - time.monotonic()))

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._ending and number == signal.SIGINT:
            for process in self._processes:
                process.kill()
        self._events.put(None)
