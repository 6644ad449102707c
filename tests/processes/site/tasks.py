"""Tasks that note each run in a list beside the queues, so that tests see who ran what."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import multiprocessing
import os
import signal
import threading
from contextlib import suppress
from typing import Any

from asgiref.sync import sync_to_async
from django.db import Error, connections, transaction

from echomq_app.compat import task
from echomq_app.connections import wire
from echomq_app.fencing import FencedOff
from echomq_app.protocol import calls, replies
from echomq_app.runtime.leases import Leases
from echomq_app.tasks import limits
from tests.processes.site.journal import JOURNAL
from tests.processes.site.models import Sheet

leak: list[bytes] = []

if "SITE_BREAKS" in os.environ:
    raise RuntimeError("this site breaks")


def note(what: str, context: Any) -> None:
    """``what``, job, token and process, as one line of the journal."""
    line = f"{what} {context.job_id} {context.held.lease.token} {os.getpid()}"
    wire().run(calls.command(JOURNAL, "RPUSH", JOURNAL, line, read=replies.number))


@task(takes_context=True)
def work(context: Any, seconds: float = 0.0) -> str:
    """Works for a while, and stops when its lease is lost."""
    note("start", context)
    note("lost" if context.wait_lease_lost(seconds) else "end", context)
    return "done"


@task(takes_context=True)
def stubborn(context: Any, seconds: float) -> None:
    """Works on whatever happens."""
    note("start", context)
    threading.Event().wait(seconds)
    note("end", context)


@task(takes_context=True)
async def awaited(context: Any, seconds: float) -> str:
    """Waits in a thread of the event loop's, which an interpreter joins before it ends."""
    await asyncio.to_thread(note, "start", context)
    await asyncio.to_thread(threading.Event().wait, seconds)
    await asyncio.to_thread(note, "end", context)
    return "awaited"


@task(takes_context=True)
def failing(context: Any) -> None:
    """Raises each time."""
    note("start", context)
    raise ValueError("no good:\nnever was")


@task(takes_context=True)
def reporting(context: Any) -> int:
    """Speaks of its progress."""
    note("start", context)
    context.progress("half")
    context.log("a line")
    return int(context.attempt)


@task
def plain(text: str) -> str:
    """Takes no context."""
    return text.upper()


@task(takes_context=True)
def ends_its_children(context: Any, count: int) -> None:
    """Forks, as a pool of processes does, and ends each child by the signal that drains a worker."""
    for _ in range(count):
        child = multiprocessing.get_context("fork").Process(target=threading.Event().wait)
        child.start()
        child.terminate()
        child.join(20)
        note(f"child{child.exitcode}", context)
        child.kill()


@task(takes_context=True)
def counted(context: Any, *aliases: str) -> None:
    """Writes a row into each database."""
    for alias in aliases:
        _insert(alias, context.job_id)


def _insert(alias: str, job: str) -> None:
    with connections[alias].cursor() as cursor:
        cursor.execute("INSERT INTO runs (job) VALUES (%s)", [job])


@task(takes_context=True)
async def awaits_the_database(context: Any) -> None:
    """Writes a row with Django's own adapters."""
    await sync_to_async(_insert)("default", context.job_id)
    await Sheet.objects.acreate(job=context.job_id)


@task(takes_context=True)
async def awaits_the_database_elsewhere(context: Any) -> None:
    """Writes a row in a thread of the event loop's."""
    await asyncio.to_thread(_insert, "default", context.job_id)


@task
def breaks_its_connection(alias: str) -> None:
    """Leaves a connection that is of no use to anybody."""
    connection: Any = connections[alias]
    connection.ensure_connection()
    connection.connection.close()


@task
def leaves_an_error(alias: str) -> None:
    """Fails in the database."""
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")


@task
def leaves_an_error_in_a_transaction(alias: str) -> None:
    """Fails in the database, in a transaction that has written."""
    with transaction.atomic(using=alias):
        _insert(alias, "leaked")
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT nothing FROM nowhere")


@task
def leaves_a_transaction_open(*aliases: str) -> None:
    """Begins what nothing ends."""
    for alias in aliases:
        transaction.atomic(using=alias).__enter__()
        _insert(alias, "leaked")


@task
def closes_its_connection_in_a_transaction(alias: str) -> None:
    """Ends the connection and not what it began there."""
    leaves_a_transaction_open.call(alias)
    connections[alias].close()


@task
def leaves_autocommit_off(alias: str) -> None:
    """Begins what nothing commits."""
    transaction.set_autocommit(False, using=alias)
    _insert(alias, "leaked")


@task
def leaves_an_unseen_transaction_open(alias: str) -> None:
    """Begins in SQL, unseen by Django, what nothing ends."""
    with connections[alias].cursor() as cursor:
        cursor.execute("BEGIN")
    _insert(alias, "leaked")


@task
def leaves_an_unseen_transaction_broken(alias: str) -> None:
    """Begins in SQL, unseen by Django, and fails there; nobody hears of the failure."""
    with connections[alias].cursor() as cursor, suppress(Error):
        cursor.execute("BEGIN")
        cursor.execute("SELECT nothing FROM nowhere")


@task(takes_context=True)
def open_connections(context: Any) -> None:
    """Notes whether this thread's connection to the database is open when a job starts."""
    note("open" if connections["default"].connection is not None else "closed", context)


@task(takes_context=True)
def writes_late(context: Any, seconds: float) -> None:
    """Works on whatever happens, and writes at the end what it came to."""
    sheet, _ = Sheet.objects.get_or_create(job=context.job_id)
    note("start", context)
    threading.Event().wait(seconds)
    try:
        sheet.fenced_update(context, text=f"by claim {context.fence}")
    except FencedOff:
        note("fenced_off", context)
        raise
    note("wrote", context)


@task(takes_context=True)
def holds_the_interpreter(context: Any, seconds: float) -> bool:
    """Waits in C and lets no other thread of its process run; whether the job is still its own."""
    note("start", context)
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    note("lost" if context.lease_lost else "end", context)
    return not context.lease_lost


@limits(hard=2)
@task(takes_context=True)
def limited(context: Any, how: str) -> None:
    """Runs into its hard limit: it waits, or holds the interpreter, or freezes its process."""
    note("start", context)
    if how == "freezes":
        os.kill(os.getpid(), signal.SIGSTOP)
    if how == "holds":
        ctypes.PyDLL(None).usleep(60_000_000)
    threading.Event().wait(60)


@task(takes_context=True)
def segfaults(context: Any) -> None:
    """Ends its process as a broken C extension does."""
    note("start", context)
    ctypes.string_at(0)


@task(takes_context=True)
def exits(context: Any, code: int) -> None:
    """Ends its process without a word."""
    note("start", context)
    os._exit(code)


@task(takes_context=True)
def holds_the_log(context: Any) -> None:
    """Takes the lock of the worker's log and never gives it back, as a broken handler does."""
    logging.getLogger("echomq.worker").handlers[0].acquire()
    note("start", context)
    threading.Event().wait()


@task(takes_context=True)
def grows(context: Any, megabytes: int) -> None:
    """Takes memory and never gives it back."""
    note("start", context)
    leak.append(b"x" * (megabytes << 20))
    note("end", context)


@task(takes_context=True)
def holds_the_leases(context: Any) -> None:
    """Takes a lock that the worker's loop and heartbeat need, and never gives it back."""
    for one in gc.get_objects():
        if type(one) is Leases:
            one._lock.acquire()
    note("start", context)
    threading.Event().wait()
