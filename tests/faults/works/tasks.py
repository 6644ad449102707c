"""Good tasks and bad ones."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Any

from echomq_app.compat import task
from echomq_app.tasks import limits
from tests.faults.works.journal import note

kept: list[bytes] = []


@task(takes_context=True)
def work(context: Any, seconds: float) -> str:
    """Works for a while, and stops when its lease is lost."""
    note("start", context)
    note("lost" if context.wait_lease_lost(seconds) else "end", context)
    return "done"


@task(takes_context=True)
def leaks(context: Any, megabytes: int) -> None:
    """Takes memory and never gives it back."""
    note("start", context)
    kept.append(b"x" * (megabytes << 20))
    note("end", context)


@limits(soft=0.5, hard=60)
@task(takes_context=True)
def dawdles(context: Any) -> None:
    """Runs into its soft limit."""
    note("start", context)
    while not context.wait_lease_lost(0.05):
        pass


@limits(hard=1)
@task(takes_context=True)
def hangs(context: Any) -> None:
    """Waits for what never comes."""
    note("start", context)
    threading.Event().wait()


@task(takes_context=True)
def exits(context: Any) -> None:
    """Ends its process without a word."""
    note("start", context)
    os._exit(0)


@task(takes_context=True)
def segfaults(context: Any) -> None:
    """Ends its process as a broken C extension does."""
    note("start", context)
    ctypes.string_at(0)


@task(takes_context=True)
def leaves(context: Any) -> None:
    """Means to end the program."""
    note("start", context)
    sys.exit("enough")


@task(takes_context=True)
def chatters(context: Any, megabytes: int) -> None:
    """Prints, a thousand bytes a line."""
    note("start", context)
    for _ in range(megabytes * 1000):
        sys.stdout.write("x" * 999 + "\n")
    note("end", context)
