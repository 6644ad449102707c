"""The leases that a worker holds: when each queue's are renewed, and which are lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call, Extension
from echomq_app.protocol.errors import ConnectionLost
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.held import Held
from echomq_app.service.queue import whole_ms
from echomq_app.wire.exchange import Answer

AGAIN_S = 1.0
"""How soon a renewal that failed is tried again."""


class Renewal(NamedTuple):
    """All leases of a queue, renewed in one call."""

    queue: str
    call: Call[list[JobId]]


class Leases:
    """The jobs that run. Each queue's leases are renewed every third of a lease: two may fail."""

    def __init__(self, span: timedelta, report: Report) -> None:
        self._span_ms = whole_ms(span)
        self._span_s = span.total_seconds()
        self._every_s = self._span_s / 3
        self._report = report
        self._held: dict[str, dict[JobId, Held]] = {}
        self._renew_at: dict[str, float] = {}
        self._told: set[Held] = set()

    def __bool__(self) -> bool:
        return any(self._held.values())

    def __iter__(self) -> Iterator[Held]:
        """Every job that runs, those whose lease is lost among them."""
        for mine in self._held.values():
            yield from mine.values()

    def take(self, held: Held, now: float) -> None:
        """A job starts; a lease of the same job that we held before is lost."""
        mine = self._held.setdefault(held.lease.queue, {})
        if not mine:
            self._renew_at[held.lease.queue] = now + self._every_s
        if (before := mine.get(held.lease.job_id)) is not None:
            self._lose(before)
        mine[held.lease.job_id] = held

    def find(self, queue: str, job_id: str) -> Held | None:
        """The job in hand, ``None`` when there is none. Called by any thread."""
        return self._held.get(queue, {}).get(JobId(job_id))

    def drop(self, held: Held) -> bool:
        """A run has ended; whether its lease was lost by then."""
        mine = self._held[held.lease.queue]
        if mine.get(held.lease.job_id) is held:
            del mine[held.lease.job_id]
        lost = self._is_lost(held)
        self._told.discard(held)
        return lost

    def clear(self) -> list[Held]:
        """Hold nothing more; the jobs whose lease was ours until now. Every task is told."""
        ours = [one for one in self if not self._is_lost(one)]
        for one in ours:
            one.lost.set()
        self._held.clear()
        return ours

    def due(self, queues: Iterable[QueueKeys], now: float) -> list[Renewal]:
        """A renewal for each of ``queues`` that wants one now; what ran out is told."""
        renewals = []
        for keys in queues:
            mine = self._held.get(keys.name)
            if not mine or now < self._renew_at[keys.name]:
                continue
            self._renew_at[keys.name] = now + self._every_s
            ours = [one.lease for one in mine.values() if not self._is_lost(one)]
            claims = [Extension(one.job_id, one.token, one.label) for one in ours]
            if claims:
                call = calls.extend_many(keys, self._span_ms, claims)
                renewals.append(Renewal(keys.name, call))
        return renewals

    def next_due(self) -> float | None:
        """When ``due`` has something."""
        return min(
            (self._renew_at[name] for name, mine in self._held.items() if mine), default=None
        )

    def renew_first(self, queue: str, at: float) -> None:
        """Renew as soon as the queue's server is asked again (decision 6)."""
        self._renew_at[queue] = at

    def renewed(self, renewal: Renewal, answer: Answer[Any], asked_at: float) -> None:
        """Take the answer to a renewal that was sent at ``asked_at`` or later.

        After ``ConnectionLost`` the caller says by ``renew_first`` when the server is asked again.
        """
        if isinstance(answer.error, ConnectionLost):
            return
        if answer.error is not None:
            self._renew_at[renewal.queue] = asked_at + min(AGAIN_S, self._every_s)
            return
        gone = set(answer.unwrap())
        for one in self._held[renewal.queue].values():
            if one.lease.job_id in gone:
                self._lose(one)
            else:
                one.lost.until = asked_at + self._span_s

    def _is_lost(self, held: Held) -> bool:
        if not held.lost.is_set():
            return False
        self._lose(held)
        return True

    def _lose(self, held: Held) -> None:
        held.lost.set()
        if held not in self._told:
            self._told.add(held)
            self._report(
                Event.LEASE_LOST,
                queue=held.lease.queue,
                job=held.lease.job_id,
                token=held.lease.token,
            )
