"""The leases that a worker holds, and which of them are lost. Shared by its loop and its heartbeat."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from echomq_app.protocol.ids import JobId
from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.held import Held
from echomq_app.service.queue import whole_ms


class Renewal(NamedTuple):
    """The leases of one queue that are renewed together."""

    queue: str
    held: Sequence[Held]


class Leases:
    """The jobs in a worker's hands. Each queue's leases are renewed every third: two may fail."""

    def __init__(self, span: timedelta, report: Report) -> None:
        self.span_ms = whole_ms(span)
        self.span_s = span.total_seconds()
        self.every_s = self.span_s / 3
        self._report = report
        self._held: dict[str, dict[JobId, Held]] = {}
        self._renew_at: dict[str, float] = {}
        self._told: set[Held] = set()
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return any(self._held.values())

    @property
    def count(self) -> int:
        """How many jobs are in hand; waits for nobody, so it may be asked about a loop that is stuck."""
        return sum(map(len, list(self._held.values())))

    def __iter__(self) -> Iterator[Held]:
        """Every job in hand now, those whose lease is lost among them."""
        with self._lock:
            return iter([one for mine in self._held.values() for one in mine.values()])

    def take(self, queue: str, jobs: Iterable[Held], now: float) -> None:
        """Jobs of a claim; a lease of the same job that we held before is lost."""
        before = []
        with self._lock:
            mine = self._held.setdefault(queue, {})
            if not mine:
                self._renew_at[queue] = now + self.every_s
            for held in jobs:
                if (old := mine.get(held.lease.job_id)) is not None:
                    before.append(old)
                mine[held.lease.job_id] = held
        for old in before:
            self._lose(old)

    def find(self, queue: str, job_id: str) -> Held | None:
        """The job in hand, ``None`` when there is none. Called by any thread."""
        return self._held.get(queue, {}).get(JobId(job_id))

    def drop(self, held: Held) -> bool:
        """A job is in hand no more; whether its lease was lost by then."""
        with self._lock:
            mine = self._held[held.lease.queue]
            if mine.get(held.lease.job_id) is held:
                del mine[held.lease.job_id]
        if not self.is_lost(held):
            return False
        self._told.discard(held)
        return True

    def clear(self) -> list[Held]:
        """Hold nothing more; the jobs whose lease was ours until now. Every task is told."""
        ours = [one for one in self if not self.is_lost(one)]
        for one in ours:
            one.lost.set()
        with self._lock:
            self._held.clear()
        return ours

    def due(self, queues: Iterable[str], now: float) -> list[Renewal]:
        """The leases to renew now on each of ``queues``; what ran out is told."""
        wanted = []
        with self._lock:
            for name in queues:
                mine = self._held.get(name)
                if mine and now >= self._renew_at[name]:
                    self._renew_at[name] = now + self.every_s
                    wanted.append((name, list(mine.values())))
        ours = [(name, [one for one in all_ if not self.is_lost(one)]) for name, all_ in wanted]
        return [Renewal(name, held) for name, held in ours if held]

    def next_due(self) -> float | None:
        """When ``due`` has something."""
        with self._lock:
            return min(
                (self._renew_at[name] for name, mine in self._held.items() if mine), default=None
            )

    def renew_at(self, queue: str, at: float) -> None:
        """Renew a queue's leases at an instant of the worker's clock."""
        with self._lock:
            if queue in self._renew_at:
                self._renew_at[queue] = at

    def renewed(self, renewal: Renewal, gone: Sequence[JobId], until: float) -> None:
        """What the server said: ``gone`` are held here no more, the rest until ``until``."""
        missing = set(gone)
        with self._lock:
            mine = self._held.get(renewal.queue, {})
            still = [one for one in renewal.held if mine.get(one.lease.job_id) is one]
        for one in still:
            if one.lease.job_id in missing:
                self._lose(one)
            else:
                one.lost.until = until

    def is_lost(self, held: Held) -> bool:
        if not held.lost.is_set():
            return False
        self._lose(held)
        return True

    def _lose(self, held: Held) -> None:
        held.lost.set()
        with self._lock:
            if held in self._told:
                return
            self._told.add(held)
        self._report(
            Event.LEASE_LOST,
            queue=held.lease.queue,
            job=held.lease.job_id,
            token=held.lease.token,
        )
