"""The heartbeat: renews what a worker holds, on a connection of its own, whatever its loop waits for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call, Extension
from echomq_app.protocol.errors import EchoMQError
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.runtime.leases import Leases, Renewal
from echomq_app.wire.link import Wire

AGAIN_S: Final = 1.0
"""How soon a renewal that failed is tried again, and how long a heartbeat sleeps at most."""


@dataclass(slots=True)
class Heartbeat:
    """Renews each queue's leases in one call every third of a lease.

    A renewal that fails is tried again; a lease that could not be renewed in its time is lost here
    before the server gives it away, because its time began before the renewal was sent.
    """

    wire: Wire
    queues: Mapping[str, QueueKeys]
    leases: Leases
    now: Callable[[], float] = time.monotonic

    def tick(self) -> float:
        """Renew what is due; seconds until something will be."""
        now = self.now()
        renewals = self.leases.due(self.queues, now)
        if renewals:
            answers = self.wire.answer([self._call(one) for one in renewals])
            for renewal, answer in zip(renewals, answers, strict=True):
                self._take(renewal, answer.error, answer.value, now)
        longest = min(AGAIN_S, self.leases.every_s)
        due = self.leases.next_due()
        return longest if due is None else max(0.0, min(longest, due - self.now()))

    def _call(self, renewal: Renewal) -> Call[list[JobId]]:
        held = [one.lease for one in renewal.held]
        claims = [Extension(one.job_id, one.token, one.label) for one in held]
        return calls.extend_many(self.queues[renewal.queue], self.leases.span_ms, claims)

    def _take(
        self, renewal: Renewal, error: EchoMQError | None, gone: list[JobId] | None, asked_at: float
    ) -> None:
        if error is not None or gone is None:
            again = asked_at + min(AGAIN_S, self.leases.every_s)
            self.leases.renew_at(renewal.queue, again)
        else:
            self.leases.renewed(renewal, gone, asked_at + self.leases.span_s)
