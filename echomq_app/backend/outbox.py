"""Jobs that wait for a commit.

A job is sent where its hook stands among the transaction's other ``on_commit`` hooks, together with
the jobs right behind it. A failure waits until the last of ours, so that it names every job and stops
no hook of the project's that stands between them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import connections

from echomq_app.backend.sending import Delivery, Parcel

logger = logging.getLogger("echomq.enqueue")


def is_open() -> bool:
    """Whether this thread is inside a transaction on any database."""
    return bool(_open_databases())


def post(parcel: Parcel) -> None:
    """Send ``parcel`` once every transaction that is open now has committed.

    A savepoint or a transaction that rolls back takes its jobs along.
    """
    databases = _open_databases()
    parcel.commits = len(databases)
    for database in databases:
        _batch(database).post(database, parcel)


def _open_databases() -> list[Any]:
    """Those in a transaction. One that only the test case opened counts when there is no other."""
    found = [one for one in connections.all(initialized_only=True) if one.in_atomic_block]
    return [one for one in found if not _is_test_case_alone(one)] or found[:1]


def _is_test_case_alone(database: Any) -> bool:
    return all(getattr(block, "_from_testcase", False) for block in database.atomic_blocks)


def _batch(database: Any) -> _Batch:
    """The batch of the open transaction, known by the departures that its hooks hold."""
    for _, hook, _ in reversed(database.run_on_commit):
        if isinstance(hook, _Departure):
            return _Batch() if hook.batch.departed else hook.batch
    return _Batch()


@dataclass(slots=True, eq=False)
class _Batch:
    """The jobs of one transaction of one database."""

    ready: list[Parcel] = field(default_factory=list)
    delivery: Delivery = field(default_factory=Delivery)
    last: _Departure | None = None
    departed: bool = False

    def post(self, database: Any, parcel: Parcel) -> None:
        """Hook a job in, and behind it a departure that no savepoint takes along."""
        hooks = database.run_on_commit
        if self.last is not None and hooks[-1][1] is self.last:
            self.last.followed = True
        database.on_commit(partial(self._committed, parcel))
        self.last = _Departure(self)
        # on_commit() would tie the departure to the savepoint that is open now.
        database.run_on_commit.append((set(), self.last, False))

    def _committed(self, parcel: Parcel) -> None:
        parcel.commits -= 1
        if parcel.commits == 0:
            self.ready.append(parcel)

    def depart(self, *, last: bool) -> None:
        self.departed = self.departed or last
        parcels, self.ready = self.ready, []
        before = len(self.delivery.unsent)
        self.delivery.send(parcels)
        if last:
            self.delivery.conclude()
        for job in self.delivery.unsent[before:]:
            logger.error(
                "job %s on queue %r was not enqueued: %s", job.job_id, job.queue, self.delivery.why
            )


@dataclass(slots=True, eq=False)
class _Departure:
    """A commit hook: sends what is ready, unless ``followed`` by more jobs at once."""

    batch: _Batch
    followed: bool = False

    def __call__(self) -> None:
        if not self.followed or self.batch.departed:
            self.batch.depart(last=self is self.batch.last)
