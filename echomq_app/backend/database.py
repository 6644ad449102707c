"""What a job's thread does with the site's database connections before and after the job."""

from __future__ import annotations

import selectors
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final

from django.db import connections
from django.db.utils import Error

_Selector: Final = getattr(selectors, "PollSelector", selectors.SelectSelector)
IDLE_S: Final = 0.1
"""After a pause this long a connection that was kept is asked whether it still works."""


class _Ended(threading.local):
    """When a thread's last job ended, on the monotonic clock."""

    at = 0.0


_ended = _Ended()


@contextmanager
def fresh_connections() -> Iterator[None]:
    """Close what is too old or broken before and after a job, as Django does around a request.

    A transaction that the job began and did not end goes with its connection, also one that only
    the driver knows of: the next job in this thread would write into it, be told that all is well, and
    lose everything.
    """
    before = connections.all(initialized_only=True)
    ours = {one.alias for one in before if one.in_atomic_block}
    idled = monotonic() - _ended.at > IDLE_S
    for one in before:
        if idled or _has_spoken(one):
            with suppress(Error):
                one.close_if_unusable_or_obsolete()
                _close_if_dead(one)
    try:
        yield
    finally:
        for one in connections.all(initialized_only=True):
            if one.alias not in ours:
                _end_transaction(one)
            with suppress(Error):
                one.close_if_unusable_or_obsolete()
        _ended.at = monotonic()


def _has_spoken(one: Any) -> bool:
    """Whether a server said something that nobody asked: most often that it ends the connection."""
    if one.vendor != "postgresql" or one.connection is None or one.in_atomic_block:
        return False
    with _Selector() as selector, suppress(Exception):
        selector.register(one.connection.fileno(), selectors.EVENT_READ)
        return bool(selector.select(0))
    return True


def _close_if_dead(one: Any) -> None:
    if one.connection is None or one.in_atomic_block:
        return
    if one.is_usable():
        one.health_check_done = True
    else:
        one.close()


def _end_transaction(one: Any) -> None:
    if one.in_atomic_block or _is_spoilt(one):
        _close(one)


def close_all() -> None:
    """Close whatever this thread has open, also in the middle of a transaction."""
    for one in connections.all(initialized_only=True):
        _close(one)


def _close(one: Any) -> None:
    with suppress(Error):
        one.close()
    if one.in_atomic_block:
        del connections[one.alias]


def _is_spoilt(one: Any) -> bool:
    """Whether the driver knows of a transaction or a loss that Django does not; asks no server."""
    link = one.connection
    if link is None:
        return False
    try:
        if one.vendor == "postgresql":
            return bool(link.info.transaction_status)
        return one.vendor == "sqlite" and bool(link.in_transaction)
    except one.Database.Error:
        return True
