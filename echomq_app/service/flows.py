"""Flows, blocking: jobs that wait for other jobs, on one queue or on many."""

from __future__ import annotations

from collections.abc import Sequence

from echomq_app.protocol.errors import EchoMQError
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Admission
from echomq_app.service import flow_plans
from echomq_app.service.flow_plans import Carried, Children
from echomq_app.service.flow_tree import FlowJob
from echomq_app.wire.link import Wire

CARRY_BATCH = 100


class Flows:
    """The verbs of flows over a wire. A flow may span queues of one server or cluster."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def add(self, flow: FlowJob) -> Admission:
        """Admit a job and those it waits for; say whether the flow is new.

        What shares the parent's queue is admitted with it or not at all; children on other queues
        follow, so when one of them fails, its parent waits. Safe to repeat after any failure: the
        same flow goes on where it stopped, and one that is there already answers
        ``Admission.DUPLICATE``. Raises ``IdCollision`` when an id is another job's, ``WrongKind``,
        ``ServerFull``, and ``InvalidInput`` for what is no flow.
        """
        return self.wire.follow(flow_plans.add(flow))

    def add_many(self, flows: Sequence[FlowJob]) -> list[Admission | EchoMQError]:
        """Admit many flows side by side; the failure of one stands in its place."""
        return self.wire.follow(flow_plans.add_many(flows))

    def children(self, queue: str, job_id: str) -> Children:
        """What a parent knows of its children, in one round trip."""
        return self.wire.follow(flow_plans.children(QueueKeys(queue), job_id))

    def carry(self, queue: str, most: int = 10_000) -> Carried:
        """Tell parents on other queues how their children on ``queue`` ended, in bounded steps.

        Workers and reapers do so on their beat. Safe to repeat: a parent hears of a child once. What
        can be told is told before a failure is raised.
        """
        return self.wire.follow(flow_plans.carry_all(QueueKeys(queue), CARRY_BATCH, most))
