"""Waiting for facts: the only place in the tests that sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")


def eventually(
    predicate: Callable[[], Seen],
    within: float = 10.0,
    every: float = 0.01,
    message: str | None = None,
) -> Seen:
    """Return the first true value of ``predicate``, asked again every ``every`` seconds.

    An ``AssertionError`` or an ``OSError`` of the predicate counts as "not yet". Raises
    ``AssertionError`` with the last value, or the last error, after ``within`` seconds.
    """
    deadline = time.monotonic() + within
    while True:
        error: Exception | None = None
        seen: object
        try:
            value = predicate()
            if value:
                return value
            seen = value
        except (AssertionError, OSError) as not_yet:
            seen = error = not_yet
        if time.monotonic() >= deadline:
            hoped = message or "what the test waits for"
            raise AssertionError(
                f"{hoped} did not come within {within:g} s; last seen: {seen!r}"
            ) from error
        time.sleep(every)


def stays(
    predicate: Callable[[], object],
    for_: float = 0.3,
    every: float = 0.01,
    message: str | None = None,
) -> None:
    """Check that ``predicate`` is true now and at every look for ``for_`` seconds.

    Raises ``AssertionError`` with the first false value.
    """
    begin = time.monotonic()
    while True:
        seen = predicate()
        passed = time.monotonic() - begin
        if not seen:
            hoped = message or "what should stay true"
            raise AssertionError(f"{hoped} ended after {passed:.3f} s; last seen: {seen!r}")
        if passed >= for_:
            return
        time.sleep(every)
