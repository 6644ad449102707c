"""Calls a task; one that is ``async def`` on an event loop of its own."""

from __future__ import annotations

from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import async_to_sync

from echomq_app.backend.database import close_all
from echomq_app.compat import Task
from echomq_app.runtime.limits import alarm, awaited_within


def call(task: Task[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
    """What the task returns. ``sync_to_async`` inside it comes back to this thread."""
    if iscoroutinefunction(task.func):
        return async_to_sync(_awaited)(task.func, args, kwargs)
    return task.call(*args, **kwargs)


def call_within(
    seconds: float, task: Task[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]
) -> Any:
    """What the task returns in its soft time limit; ``SoftTimeLimitExceeded`` after it."""
    if iscoroutinefunction(task.func):
        return async_to_sync(_awaited)(partial(_within, seconds, task.func), args, kwargs)
    return alarm.run(seconds, partial(task.call, *args, **kwargs))


async def _within(
    seconds: float, function: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any
) -> Any:
    return await awaited_within(seconds, function(*args, **kwargs))


async def _awaited(
    function: Callable[..., Awaitable[Any]], args: Iterable[Any], kwargs: Mapping[str, Any]
) -> Any:
    get_running_loop().set_default_executor(ClosingThreads())
    return await function(*args, **kwargs)


class ClosingThreads(ThreadPoolExecutor):
    """An event loop's threads: what a call opens there is closed with it.

    A thread that ends lets go of its connections and closes none: they stay open until memory is
    tidied, and a pool never hears of them again.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(_closing, fn, *args, **kwargs)


def _closing(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    finally:
        close_all()
