"""Jobs that wait for a commit, and the sending of jobs in as few round trips as they need.

All jobs of a transaction go out together, after its last enqueue's hook: so that a server which
cannot be reached fails all of them by name, and none is dropped because an earlier hook raised.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connections

from echomq_app.compat import TaskResult
from echomq_app.connections import introduce, queue_named, wire
from echomq_app.protocol import calls
from echomq_app.protocol.errors import (
    ConnectionLost,
    EchoMQError,
    EnqueueFailed,
    IdCollision,
    ServerFull,
    UnsentJob,
)
from echomq_app.protocol.states import Admission
from echomq_app.service import plans
from echomq_app.service.queue import instant_ms


@dataclass(slots=True, kw_only=True, eq=False)
class Parcel:
    """One job on its way out. ``commits`` counts the open transactions that it waits for."""

    queue: str
    job_id: str
    payload: bytes
    run_after: datetime | None
    result: TaskResult[Any]
    tell: Callable[[TaskResult[Any]], None]
    commits: int = 0

    @property
    def unsent(self) -> UnsentJob:
        return UnsentJob(self.queue, self.job_id, self.payload)


@dataclass(slots=True)
class _Outbox:
    ready: list[Parcel] = field(default_factory=list)
    latest: int = 0
    """The number of the newest closing hook: the older ones do nothing."""


class _Local(threading.local):
    def __init__(self) -> None:
        self.outbox = _Outbox()


_local = _Local()


def _open_databases() -> list[Any]:
    return [one for one in connections.all(initialized_only=True) if one.in_atomic_block]


def is_open() -> bool:
    """Whether this thread is inside a transaction on any database."""
    return bool(_open_databases())


def post(parcel: Parcel) -> None:
    """Send ``parcel`` once every transaction that is open now has committed.

    A savepoint or a transaction that rolls back takes its jobs along.
    """
    outbox = _local.outbox
    databases = _open_databases()
    parcel.commits = len(databases)

    def committed() -> None:
        parcel.commits -= 1
        if parcel.commits == 0:
            outbox.ready.append(parcel)

    outbox.latest += 1
    number = outbox.latest

    def close() -> None:
        if number == outbox.latest and outbox.ready:
            parcels, outbox.ready = outbox.ready, []
            send(parcels)

    for database in databases:
        database.on_commit(committed)
        # No savepoint may take the closing hook along, and it must stay behind all others of ours:
        # on_commit() would tie it to the savepoint that is open now.
        database.run_on_commit.append((set(), close, False))


def send(parcels: Sequence[Parcel]) -> None:
    """Admit jobs, many of one queue in one script; tell who listens.

    Every job is tried; then ``EnqueueFailed`` carries all that may not have arrived, and
    ``IdCollision`` is raised for an id that is another job's.
    """
    failed: list[UnsentJob] = []
    why: EchoMQError | None = None
    collision: IdCollision | None = None
    for batch in _batches(parcels):
        try:
            verdicts = _admit(batch)
        except (ConnectionLost, ServerFull) as error:
            failed += [one.unsent for one in batch]
            why = error
            continue
        for parcel, verdict in zip(batch, verdicts, strict=True):
            if verdict is Admission.COLLISION:
                collision = IdCollision(parcel.job_id, parcel.queue)
            else:
                parcel.tell(parcel.result)
        introduce(batch[0].queue)
    if failed:
        raise EnqueueFailed(failed, str(why)) from why
    if collision is not None:
        raise collision


def _batches(parcels: Sequence[Parcel]) -> list[list[Parcel]]:
    """Jobs for now by queue, each in mint order; jobs for later one by one."""
    now: dict[str, list[Parcel]] = {}
    later: list[list[Parcel]] = []
    for parcel in parcels:
        if parcel.run_after is None:
            now.setdefault(parcel.queue, []).append(parcel)
        else:
            later.append([parcel])
    return [*now.values(), *later]


def _admit(batch: list[Parcel]) -> list[Admission]:
    queue = queue_named(batch[0].queue)
    if len(batch) > 1:
        return queue.enqueue_many([(one.job_id, one.payload) for one in batch])
    (parcel,) = batch
    call = calls.enqueue(queue.keys, parcel.job_id, parcel.payload)
    if parcel.run_after is not None:
        at = instant_ms(parcel.run_after)
        call = calls.schedule_at(queue.keys, parcel.job_id, parcel.payload, at)
    try:
        return [wire().follow(plans.admit(queue.keys, parcel.job_id, parcel.payload, call))]
    except IdCollision:
        return [Admission.COLLISION]


def send_again(jobs: Sequence[UnsentJob]) -> None:
    """Admit jobs that an ``EnqueueFailed`` carried; those that were admitted stay as they are."""
    for queue in dict.fromkeys(job.queue for job in jobs):
        mine = [(job.job_id, job.payload) for job in jobs if job.queue == queue]
        for (job_id, _), verdict in zip(mine, queue_named(queue).enqueue_many(mine), strict=True):
            if verdict is Admission.COLLISION:
                raise IdCollision(job_id, queue)
