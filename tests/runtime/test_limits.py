"""Time limits: how they are declared, and an alarm that interrupts what it shall and nothing else."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from echomq_app.runtime.limits import (
    UNSET,
    Alarm,
    Limits,
    SoftTimeLimitExceeded,
    awaited_within,
    limits,
    limits_of,
)

TOO_LONG = 20.0


def work(seconds: float) -> str:
    """Busy in Python for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return "done"


def test_what_runs_too_long_is_interrupted_where_it_runs_and_told_the_limit() -> None:
    began = time.monotonic()

    with pytest.raises(SoftTimeLimitExceeded, match=r"^the soft time limit of 0\.1 s has passed$"):
        Alarm().run(0.1, lambda: work(TOO_LONG))

    assert 0.1 <= time.monotonic() - began < TOO_LONG / 2


def test_what_ends_in_time_returns_what_it_returns_and_raises_what_it_raises() -> None:
    alarm = Alarm()

    assert alarm.run(TOO_LONG, lambda: work(0.01)) == "done"
    with pytest.raises(ZeroDivisionError):
        alarm.run(TOO_LONG, lambda: 1 / 0)


def test_a_task_that_catches_it_goes_on_and_is_not_interrupted_again() -> None:
    def tidy() -> str:
        try:
            work(TOO_LONG)
        except SoftTimeLimitExceeded:
            work(0.3)
        return "tidied"

    assert Alarm().run(0.1, tidy) == "tidied"


def test_each_thread_is_interrupted_for_itself_by_its_own_limit() -> None:
    alarm, told = Alarm(), dict[float, float]()

    def run(limit: float) -> None:
        began = time.monotonic()
        with pytest.raises(SoftTimeLimitExceeded):
            alarm.run(limit, lambda: threading.Event().wait(0.01) or work(TOO_LONG))
        told[limit] = time.monotonic() - began

    threads = [threading.Thread(target=run, args=(limit,)) for limit in (1.0, 0.1, 0.5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(told, key=lambda limit: told[limit]) == [0.1, 0.5, 1.0]
    assert all(limit <= took for limit, took in told.items())


def test_an_end_close_to_the_limit_never_lets_the_exception_out_afterwards() -> None:
    alarm, outside, late = Alarm(), 0, 0

    for turn in range(1500):
        try:
            alarm.run(0.001, lambda: work(0.0008 + (turn % 50) / 100_000))  # noqa: B023  # called now
        except SoftTimeLimitExceeded:
            late += 1
        try:
            work(0.0002)
        except SoftTimeLimitExceeded:
            outside += 1

    assert outside == 0
    assert 0 < late < 1500


def test_what_waits_in_c_past_its_limit_hears_it_when_that_returns() -> None:
    began = time.monotonic()

    with pytest.raises(SoftTimeLimitExceeded):
        Alarm().run(0.05, lambda: threading.Event().wait(0.3))

    assert time.monotonic() - began >= 0.3


def test_an_alarm_that_nobody_uses_has_no_thread() -> None:
    before = threading.active_count()
    Alarm()
    assert threading.active_count() == before


def test_what_is_awaited_too_long_is_cancelled_and_fails_of_its_limit() -> None:
    seen = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    with pytest.raises(SoftTimeLimitExceeded, match=r"soft time limit of 0\.05 s"):
        asyncio.run(awaited_within(0.05, wait()))

    assert seen == ["cancelled"]


def test_a_timeout_of_the_awaited_itself_stays_what_it_is() -> None:
    async def fail() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        asyncio.run(awaited_within(TOO_LONG, fail()))


class Task:
    """As ``@task`` makes one: it cannot be written to."""

    __slots__ = ("func",)

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func


def test_limits_stand_above_or_below_the_task_decorator() -> None:
    @limits(soft=timedelta(minutes=1), hard=90)
    def below() -> None: ...

    def function() -> None: ...

    above = limits(soft=timedelta(minutes=1), hard=90)(Task(function))

    assert isinstance(above, Task)
    assert limits_of(below) == limits_of(above.func) == Limits(60.0, 90.0)
    assert limits_of(work) is None


def test_what_a_task_leaves_out_is_the_projects_and_none_is_none() -> None:
    defaults = Limits(10.0, 20.0)

    assert Limits().within(defaults) == defaults
    assert Limits(5.0).within(defaults) == Limits(5.0, 20.0)
    assert Limits(None, None).within(defaults) == Limits(None, None)
    assert Limits(UNSET, 7.0).within(defaults) == Limits(10.0, 7.0)


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"soft": 0}, "a soft limit is a span above zero, or None for none; got 0"),
        ({"hard": timedelta(seconds=-1)}, "a hard limit is a span above zero"),
        ({"soft": 60, "hard": 60}, "a soft limit is shorter than the hard one; got 60 and 60"),
    ],
)
def test_a_limit_that_cannot_be_is_refused_where_it_is_declared(
    declared: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        limits(**declared)
