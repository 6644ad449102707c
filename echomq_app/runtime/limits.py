"""Time limits of a task: how they are declared, and the soft one's exception, raised where it runs."""

from __future__ import annotations

import asyncio
import ctypes
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, Final, TypeVar

T = TypeVar("T")
_ATTRIBUTE: Final = "echomq_limits"


class SoftTimeLimitExceeded(Exception):
    """Raised inside a task that runs longer than its soft time limit. A task may catch it and tidy up."""

    def __init__(self, text: str = "the soft time limit has passed") -> None:
        super().__init__(text)


class HardTimeLimitExceeded(Exception):
    """What a job fails of whose process was killed for it. No task ever sees it."""


class _Unset(Enum):
    """A limit that is left to the project's settings."""

    UNSET = "unset"


UNSET: Final = _Unset.UNSET
Span = timedelta | float | None
"""A span or seconds; ``None``: no limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds; ``None``: none, ``UNSET``: the project's."""

    soft_s: float | _Unset | None = UNSET
    hard_s: float | _Unset | None = UNSET

    def within(self, defaults: Limits) -> Limits:
        """These, and the project's where they leave it to it."""
        return Limits(
            defaults.soft_s if self.soft_s is UNSET else self.soft_s,
            defaults.hard_s if self.hard_s is UNSET else self.hard_s,
        )


NO_LIMITS: Final = Limits(None, None)
_declared: list[Limits] = []


def limits(*, soft: Span | _Unset = UNSET, hard: Span | _Unset = UNSET) -> Callable[[T], T]:
    """Declare a task's time limits, above or below ``@task``: spans, or seconds; ``None`` for none.

    What is left out is the project's ``SOFT_TIME_LIMIT`` or ``HARD_TIME_LIMIT``. Past the soft limit
    ``SoftTimeLimitExceeded`` is raised inside the task; past the hard one its process is killed, which
    takes ``emq_worker --processes``.
    """
    found = Limits(_seconds("soft", soft), _seconds("hard", hard))
    soft_s, hard_s = found.soft_s, found.hard_s
    if isinstance(soft_s, float) and isinstance(hard_s, float) and soft_s >= hard_s:
        raise ValueError(f"a soft limit is shorter than the hard one; got {soft} and {hard}")
    _declared.append(found)

    def declare(task: T) -> T:
        setattr(getattr(task, "func", task), _ATTRIBUTE, found)
        return task

    return declare


def _seconds(name: str, span: Span | _Unset) -> float | _Unset | None:
    if span is None or isinstance(span, _Unset):
        return span
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    if not seconds > 0:
        raise ValueError(f"a {name} limit is a span above zero, or None for none; got {span!r}")
    return seconds


def limits_of(function: Callable[..., Any]) -> Limits | None:
    """What was declared for a task's function; ``None`` when nothing was."""
    found: Limits | None = getattr(function, _ATTRIBUTE, None)
    return found


def any_hard() -> bool:
    """Whether a task of this process has declared a hard limit."""
    return any(isinstance(one.hard_s, float) for one in _declared)


class _Ring:
    """A limit that runs: whom it is raised in, and when."""

    __slots__ = ("at", "fired", "thread")

    def __init__(self, seconds: float) -> None:
        self.thread = threading.get_ident()
        self.at = time.monotonic() + seconds
        self.fired = False


class Alarm:
    """Raises ``SoftTimeLimitExceeded`` in threads whose time is up; its own starts with the first.

    Python raises it between two instructions of that thread: what waits in C hears it afterwards.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._running: set[_Ring] = set()
        self._wakes_at = 0.0
        self._thread: threading.Thread | None = None

    def run(self, seconds: float, call: Callable[[], T]) -> T:
        """What ``call`` comes to, interrupted once after ``seconds``; after its end never."""
        ring = _Ring(seconds)
        try:
            self._add(ring)
            return call()
        except SoftTimeLimitExceeded as error:
            error.args = (f"the soft time limit of {seconds:g} s has passed",)
            raise
        finally:
            # Sent and not yet raised, it may come in here too; what is left of it is taken back.
            while True:
                try:
                    with self._lock:
                        self._running.discard(ring)
                        if ring.fired:
                            _raise_in(ring.thread, None)
                    break
                except SoftTimeLimitExceeded:
                    continue

    def _add(self, ring: _Ring) -> None:
        with self._lock:
            self._running.add(ring)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="emq-alarm", daemon=True)
                self._thread.start()
            elif ring.at < self._wakes_at:
                self._news.notify()

    def _watch(self) -> None:
        with self._lock:
            while True:
                now = time.monotonic()
                for ring in [one for one in self._running if one.at <= now]:
                    self._running.discard(ring)
                    ring.fired = True
                    _raise_in(ring.thread, SoftTimeLimitExceeded)
                self._wakes_at = min((one.at for one in self._running), default=float("inf"))
                left = self._wakes_at - now
                self._news.wait(min(left, threading.TIMEOUT_MAX) if self._running else None)


alarm: Final = Alarm()
"""The one of this process."""

_set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
_set_exception.argtypes = (ctypes.c_ulong, ctypes.c_void_p)


def _raise_in(thread: int, exception: type[Exception] | None) -> None:
    """Let a thread raise ``exception`` next; ``None`` takes back what it has not raised yet."""
    _set_exception(thread, None if exception is None else id(exception))


async def awaited_within(seconds: float, awaitable: Awaitable[T]) -> T:
    """What ``awaitable`` comes to, cancelled after ``seconds``: ``SoftTimeLimitExceeded`` then."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await awaitable
    except TimeoutError:
        if limit.expired():
            raise SoftTimeLimitExceeded(
                f"the soft time limit of {seconds:g} s has passed"
            ) from None
        raise
