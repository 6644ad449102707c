"""What a job's thread does with the site's database connections before and after the job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import close_old_connections, connections
from django.db.utils import Error


@contextmanager
def fresh_connections() -> Iterator[None]:
    """Close what is too old or broken before and after a job, as Django does around a request.

    A transaction that the job began and did not end goes with its connection: the next job in this
    thread would write into it, be told that all is well, and lose everything.
    """
    ours = _in_transaction()
    _close_old()
    try:
        yield
    finally:
        for alias in _in_transaction() - ours:
            with suppress(Error):
                connections[alias].close()
            del connections[alias]
        _close_old()


def _in_transaction() -> set[str]:
    return {one.alias for one in connections.all(initialized_only=True) if one.in_atomic_block}


def _close_old() -> None:
    with suppress(Error):
        close_old_connections()
