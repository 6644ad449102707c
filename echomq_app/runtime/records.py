"""What each kind of process tells of itself, and what it does when an operator wishes something."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable

from echomq_app import __version__
from echomq_app.protocol.states import Wish
from echomq_app.runtime.survey import age_s, task_of
from echomq_app.runtime.threads import Bell
from echomq_app.runtime.worker import Worker
from echomq_app.service.queue import Queue
from echomq_app.service.workers import MOST_JOBS, JobAtWork, WorkerRecord

LONGEST_HOST = 64


class Told:
    """Where, since when and what a process serves; ``of`` adds what it is up to now."""

    def __init__(self, name: str, kind: str, queues: Iterable[Queue], above: str = "") -> None:
        self.name = name
        self.kind = kind
        self._queues = tuple(queue.name for queue in queues)
        self._above = above
        self._host = socket.gethostname()[:LONGEST_HOST]
        self._pid = os.getpid()
        self._started_ms = time.time_ns() // 1_000_000

    def of(
        self,
        state: str,
        *,
        slots: int | None = None,
        running: int = 0,
        jobs: tuple[JobAtWork, ...] = (),
    ) -> WorkerRecord:
        """The record of this moment."""
        return WorkerRecord(
            name=self.name,
            kind=self.kind,
            host=self._host,
            pid=self._pid,
            version=__version__,
            started_ms=self._started_ms,
            queues=self._queues,
            slots=slots,
            state=state,
            running=running,
            jobs=jobs,
            above=self._above,
        )


def state_of(stopping: bool, quiet: bool = False) -> str:
    """One word for what a process is up to."""
    if stopping:
        return "draining"
    return "quiet" if quiet else "serving"


def worker_record(told: Told, worker: Worker) -> WorkerRecord:
    """A worker as it is now, with the jobs that have run longest."""
    now = worker.now()
    running = [one for one in worker.leases if one.started_at is not None]
    oldest = sorted(running, key=lambda one: one.started_at or now)[:MOST_JOBS]
    jobs = [
        JobAtWork(one.lease.queue, one.lease.job_id, task_of(one), age_s(one, now))
        for one in oldest
    ]
    return told.of(
        state_of(worker.stopping, worker.quiet),
        slots=worker.options.concurrency,
        running=len(running),
        jobs=tuple(jobs),
    )


def obeying(worker: Worker, bell: Bell) -> Callable[[Wish], None]:
    """What a worker does at each wish; its loop is woken to see that."""

    def obey(wish: Wish) -> None:
        if wish is Wish.STOP:
            worker.stop()
        else:
            worker.quiet = wish is Wish.QUIET
        bell.ring()

    return obey


def stopping_on_wish(stop: Callable[[], None], bell: Bell) -> Callable[[Wish], None]:
    """What a process does that claims nothing itself: it can be asked to stop alone."""

    def obey(wish: Wish) -> None:
        if wish is Wish.STOP:
            stop()
            bell.ring()

    return obey
