"""Tells what runs when a signal asks: each job, its age, its lease, its thread, and where that stands."""

from __future__ import annotations

import faulthandler
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Final

from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.held import Held
from echomq_app.runtime.supervisor import Supervisor
from echomq_app.runtime.threads import Bell
from echomq_app.runtime.worker import Worker
from echomq_app.service.pages import ROW_CUT, task_in

MOST_FRAMES: Final = 40
LONGEST_TELLING_S: Final = 5.0
"""A thread that will not come back may hold what telling needs, the lock of a log handler say."""
_STDERR: Final = 2


def tell_on_signal(tell: Callable[[], None]) -> None:
    """Call ``tell`` at each USR1, in a thread of its own: so a loop that is stuck is told of too.

    Windows has no such signal. When ``tell`` does not come back, every thread's stack goes to the
    standard error as the interpreter writes it.
    """
    if not hasattr(signal, "SIGUSR1"):
        return
    bell = Bell()
    signal.signal(signal.SIGUSR1, lambda *_: bell.ring())

    def listen() -> None:
        while True:
            select.select([bell], [], [])
            bell.hush()
            tell_in_time(tell)

    threading.Thread(target=listen, name="emq-survey", daemon=True).start()


def tell_in_time(tell: Callable[[], object], within_s: float = LONGEST_TELLING_S) -> None:
    """Wait for ``tell`` for a bounded time, then write all stacks without it."""
    telling = threading.Thread(target=tell, name="emq-telling", daemon=True)
    telling.start()
    telling.join(within_s)
    if telling.is_alive():
        faulthandler.dump_traceback(_STDERR)


def tell_of_worker(worker: Worker, report: Report) -> None:
    """A line for the worker and where its loop stands, and one for each job in its hands."""
    frames, now = sys._current_frames(), worker.now()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    jobs = sorted(worker.leases, key=lambda one: one.claimed_at)
    loop = threading.main_thread().ident
    report(
        Event.SURVEYED,
        name=worker.name,
        running=sum(one.started_at is not None for one in jobs),
        waiting=sum(one.started_at is None for one in jobs),
        slots=worker.options.concurrency,
        stack=stack(frames.get(loop or 0)),
    )
    for held in jobs:
        thread = held.thread or 0
        report(
            Event.RUNNING,
            **_facts(held, now),
            thread=names.get(thread, ""),
            stack=stack(frames.get(thread)),
        )


def _facts(held: Held, now: float) -> dict[str, object]:
    lease = held.lease
    return {
        "queue": lease.queue,
        "job": lease.job_id,
        "task": task_of(held),
        "attempt": lease.attempt,
        "token": lease.token,
        "seconds": age_s(held, now),
        "lease_s": round(held.lost.until - now, 1),
    }


def task_of(held: Held) -> str:
    """The task's dotted path; empty when the payload's head tells none."""
    return task_in(held.lease.payload[:ROW_CUT]) or ""


def age_s(held: Held, now: float) -> float:
    """Seconds since it began; one that waits, since it was claimed."""
    since = held.claimed_at if held.started_at is None else held.started_at
    return round(now - since, 1)


def stack(frame: FrameType | None) -> str:
    """Where a thread stands, the innermost call first, on one line."""
    calls: list[str] = []
    while frame is not None and len(calls) < MOST_FRAMES:
        code = frame.f_code
        place = "/".join(code.co_filename.replace("\\", "/").rsplit("/", 2)[-2:])
        calls.append(f"{code.co_name} ({place}:{frame.f_lineno})")
        frame = frame.f_back
    return " < ".join(calls)


def tell_of_processes(supervisor: Supervisor, report: Report) -> None:
    """What each process runs by what it wrote in shared memory; then each is asked to tell itself.

    So a process that holds the interpreter, and answers nobody, is told of all the same.
    """
    now = time.monotonic()
    for child in supervisor.children:
        # The supervisor lets go of the memory of a process that ends meanwhile.
        with suppress(ValueError):
            ready, runs = child.ledger.is_ready, child.ledger.runs()
            beaten_at = child.ledger.beaten_at
            silent_s = round(now - beaten_at, 1) if beaten_at else 0.0
            facts = {"pid": child.pid, "running": len(runs), "silent_s": silent_s}
            report(Event.SURVEYED, **facts, ready=ready)
            for run in runs:
                seconds = round(now - run.started_at, 1)
                report(Event.RUNNING, job=run.job_id, seconds=seconds, pid=child.pid)
            if ready:
                child.ask()
