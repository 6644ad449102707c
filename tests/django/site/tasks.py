"""Tasks that do what tasks of projects do, and what they should not."""

from __future__ import annotations

import asyncio
import os
import threading
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import Group
from django.db import connection

from echomq_app.compat import task
from echomq_app.tasks import SoftTimeLimitExceeded, limits

seen: list[Any] = []
"""What tasks noted, in order; the fixture ``site`` empties it."""
go_on = threading.Event()
"""Lets ``hold`` end; the fixture ``site`` resets it."""


class Declined(Exception):
    pass


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")


@task()
def add(left: int, right: int = 1) -> int:
    seen.append((left, right))
    return left + right


@task()
def echo(*args: Any, **kwargs: Any) -> list[Any]:
    seen.append((args, kwargs))
    return [list(args), kwargs]


@task()
async def add_later(left: int, right: int) -> int:
    await asyncio.sleep(0)
    return left + right


@task()
async def give_up_later() -> None:
    await asyncio.sleep(0)
    raise SystemExit("enough")


@task(takes_context=True)
def tell(context: Any, word: str) -> dict[str, Any]:
    context.log(f"said {word}")
    context.progress("half")
    result = context.task_result
    return {
        "attempt": context.attempt,
        "job_id": context.job_id,
        "lease_lost": context.lease_lost,
        "waited": context.wait_lease_lost(0.001),
        "status": result.status,
        "args": result.args,
        "queue": result.task.queue_name,
        "workers": result.worker_ids,
    }


@task(takes_context=True)
def hold(context: Any) -> bool:
    seen.append("holding")
    if context.wait_lease_lost(10):
        seen.append("lost")
    assert go_on.wait(10)
    return bool(context.lease_lost)


@task(takes_context=True)
def heed(context: Any) -> str | None:
    context.cancellation.raise_if_asked()
    return context.cancellation.check()  # type: ignore[no-any-return]  # a context has no type here


@task(takes_context=True)
def report_and_hold(context: Any, progress: str, line: str) -> None:
    context.progress(progress.replace("?", "\ud800"))
    context.log(line)
    seen.append("holding")
    assert go_on.wait(10)


@task(takes_context=True)
def third_time(context: Any) -> int:
    if context.attempt < 3:
        raise Declined(f"attempt {context.attempt}")
    return int(context.attempt)


@task()
def fail(text: str = "no") -> None:
    seen.append("failing")
    raise Declined(text)


@task()
def fail_unprintably() -> None:
    raise Unprintable


@task()
def fail_with_surrogate() -> None:
    raise Declined("half \ud800 a pair")


@task()
def fail_in_a_group() -> None:
    raise ExceptionGroup("both", [ValueError("one"), ValueError("two")])


@task()
def interrupt() -> None:
    raise KeyboardInterrupt


@task()
def leave() -> None:
    seen.append("leaving")
    raise SystemExit(3)


@task()
def recurse() -> Any:
    return recurse.call()


VALUES: dict[str, Any] = {
    "set": {1, 2},
    "decimal": Decimal("1.5"),
    "not a number": float("nan"),
    "key": {(1, 2): 3},
    "bytes": b"x",
    "itself": [],
}
VALUES["itself"].append(VALUES["itself"])


@task()
def give(what: str) -> Any:
    seen.append(what)
    return VALUES[what]


@task()
def nested(depth: int) -> Any:
    seen.append(depth)
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@task()
def surrogate() -> str:
    return "\ud800"


@task()
def break_connection() -> bool:
    """Leave the database connection as an error would; whether it was found so."""
    found = connection.errors_occurred
    connection.ensure_connection()
    connection.errors_occurred = True
    return found


@task()
def count_groups() -> int:
    return Group.objects.count()


def not_a_task() -> None:
    seen.append("not a task")


def pid() -> int:
    return os.getpid()


@limits(soft=0.2)
@task()
def works_too_long() -> None:
    seen.append("begun")
    while not go_on.is_set():
        pass


@task()
@limits(soft=0.2)
def tidies_up() -> str:
    try:
        while not go_on.is_set():
            pass
    except SoftTimeLimitExceeded:
        return "tidied"
    return "never late"


@limits(soft=0.1)
@task()
async def waits_too_long() -> None:
    await asyncio.Event().wait()


@limits(soft=None)
@task()
def works_unlimited(seconds: float) -> str:
    threading.Event().wait(seconds)
    return "done"


@limits(hard=9)
@task()
def works_limited(number: int) -> int:
    return number
