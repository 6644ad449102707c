"""A Hypothesis state machine over the verbs of flows, on two queues of a real server, against the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from echomq_app.protocol.calls import Retention
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.payload import mark
from echomq_app.protocol.states import Admission, Requeued
from echomq_app.service.flow_plans import carry
from echomq_app.service.flow_tree import FlowJob
from echomq_app.service.flows import Flows
from echomq_app.service.queue import Queue
from echomq_app.service.records import Lease
from echomq_app.wire.link import Wire
from tests.model.flow_truth import FlowTruth, Where
from tests.model.tally import Tally
from tests.model.view import READ
from tests.servers.server import Server

QUEUES: Final = ("near", "far")
LEASE: Final = timedelta(minutes=10)
MOST_JOBS: Final = 8
Shape = tuple[bool, bool, list[Any]]
Rule = TypeVar("Rule", bound=Callable[..., None])

sides = st.sampled_from(QUEUES)
picks = st.integers(0, 8)
leaves: st.SearchStrategy[Shape] = st.tuples(st.booleans(), st.booleans(), st.just([]))
shapes: st.SearchStrategy[Shape] = st.recursive(
    leaves,
    lambda below: st.tuples(st.booleans(), st.booleans(), st.lists(below, max_size=3)),
    max_leaves=6,
)


def plain(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def texts(found: list[bytes]) -> list[str]:
    return [plain(one) for one in found]


def pairs(found: list[bytes]) -> dict[str, str]:
    """A flat list, as scripts read hashes and scores."""
    told = texts(found)
    return dict(zip(told[::2], told[1::2], strict=True))


READERS: Final[dict[bytes, Callable[[Any], Any]]] = {
    b"hash": pairs,
    b"zset": lambda found: list(pairs(found)),
    b"list": texts,
    b"string": plain,
}


def when(*places: Where) -> Callable[[Rule], Rule]:
    """A rule that is worth taking when a job is in one of these places."""
    return precondition(lambda self: any(map(self.truth.at, places)))


class FlowMachine(RuleBasedStateMachine):
    def __init__(self, server: Server, tally: Tally) -> None:
        super().__init__()
        self.client = server.client()
        self.client.flushall()
        wire = Wire(self.client)
        self.flows = Flows(wire)
        self.queues = {name: Queue(wire, name) for name in QUEUES}
        self.truth = FlowTruth()
        self.leases: dict[str, Lease] = {}
        self.carried: dict[str, list[tuple[Any, bytes]]] = {name: [] for name in QUEUES}
        self.minter = Minter(node=5)
        self.tally = tally
        self.tally.examples += 1
        self.tally.steps = 0

    def teardown(self) -> None:
        self.client.close()

    @invariant()
    def everything_agrees(self) -> None:
        self.tally.steps += 1
        bases = {name: queue.keys.base for name, queue in self.queues.items()}
        self.truth.check(self._seen(), bases)

    def _seen(self) -> dict[str, Any]:
        """The value of each key by its name, in one round trip."""
        found: Any = self.client.eval(READ, 1, "emq:")
        return {"emq:" + plain(name): READERS[kind](value) for name, kind, _, value in found}

    @precondition(lambda self: self.truth.living() < MOST_JOBS)
    @rule(side=sides, below=st.lists(shapes, min_size=1, max_size=3))
    def add(self, side: str, below: list[Shape]) -> None:
        flow = self._job(side, (False, False, below), top=True)
        assert self.flows.add(flow) is Admission.ADMITTED
        self.truth.add(flow)

    def _job(self, side: str, shape: Shape, *, top: bool = False) -> FlowJob:
        moves, ignored, below = shape
        queue = QUEUES[1 - QUEUES.index(side)] if moves else side
        children = [self._job(queue, one) for one in below]
        job_id = self.minter.mint()
        return FlowJob(
            job_id=job_id,
            payload=job_id.encode(),
            queue=queue if moves or top else "",
            children=children,
            ignore_failure=ignored,
        )

    @rule()
    def nothing_happens(self) -> None:
        """There is always a rule to take."""

    @precondition(lambda self: self.truth.tops)
    @rule(pick=picks)
    def add_again(self, pick: int) -> None:
        """Nothing changes while the top, and what it waits for elsewhere, is known to the server."""
        flow = self.truth.tops[pick % len(self.truth.tops)]
        if any(node.where is Where.REMOVED for node in self.truth.below(flow)):
            return
        assert self.flows.add(flow) is Admission.DUPLICATE

    @when(Where.PENDING)
    @rule(side=sides)
    def claim(self, side: str) -> None:
        waiting = self.truth.at(Where.PENDING, side)
        held = self.queues[side].claim_many(LEASE, 1, self.minter.mint())
        assert [one.job_id for one in held] == waiting[:1]
        for one in held:
            self.leases[one.job_id] = one
            self.truth.nodes[one.job_id].where = Where.ACTIVE

    def _held(self, pick: int) -> tuple[Queue, Lease]:
        held = self._pick(pick, Where.ACTIVE)
        return self.queues[self.truth.nodes[held].queue], self.leases.pop(held)

    def _pick(self, pick: int, *places: Where) -> str:
        found = [job_id for where in places for job_id in self.truth.at(where)]
        return found[pick % len(found)]

    @when(Where.ACTIVE)
    @rule(pick=picks)
    def complete(self, pick: int) -> None:
        queue, held = self._held(pick)
        queue.complete(held, Retention(mark=mark(held.payload), receipt_ms=60_000))
        self.truth.end(held.job_id, Where.DONE)

    @when(Where.ACTIVE)
    @rule(pick=picks)
    def bury(self, pick: int) -> None:
        queue, held = self._held(pick)
        queue.retry(held, delay=timedelta(), max_attempts=1, error="boom")
        self.truth.end(held.job_id, Where.DEAD)

    @when(Where.ACTIVE)
    @rule(pick=picks)
    def lapse(self, pick: int) -> None:
        queue, held = self._held(pick)
        self.client.zadd(queue.keys.active, {held.job_id: 1}, xx=True)
        assert queue.reap() == 1
        self.truth.nodes[held.job_id].where = Where.PENDING

    @when(Where.HELD, Where.PENDING, Where.ACTIVE, Where.DEAD)
    @rule(pick=picks)
    def remove(self, pick: int) -> None:
        job_id = self._pick(pick, Where.HELD, Where.PENDING, Where.ACTIVE, Where.DEAD)
        self.leases.pop(job_id, None)
        assert self.queues[self.truth.nodes[job_id].queue].remove(job_id, force=True)
        self.truth.end(job_id, Where.REMOVED)

    @when(Where.DEAD)
    @rule(pick=picks)
    def requeue(self, pick: int) -> None:
        node = self.truth.nodes[self._pick(pick, Where.DEAD)]
        queue = self.queues[node.queue]
        assert queue.requeue(node.job.job_id) is Requeued.REQUEUED
        node.where, node.forced = Where.PENDING, True

    def _entries(self, side: str) -> list[bytes]:
        found: Any = self.client.lrange(self.queues[side].keys.outbox, 0, -1)
        return list(found)

    @precondition(lambda self: any(self.truth.outbox.values()))
    @rule(side=sides)
    def carry(self, side: str) -> None:
        news, entries = self.truth.outbox.pop(side, []), self._entries(side)
        self.carried[side] += zip(news, entries, strict=True)
        for one in news:
            self.truth.hear(one)
        assert self.flows.carry(side).aside == 0

    @precondition(lambda self: any(self.truth.outbox.values()))
    @rule(side=sides)
    def carry_and_die_before_the_sweep(self, side: str) -> None:
        for one in list(self.truth.outbox.get(side, [])):
            self.truth.hear(one)
        wire, plan = self.flows.wire, carry(self.queues[side].keys, 100)
        found = wire.answer(next(plan))
        with suppress(StopIteration):
            wire.answer(plan.send(found))
        plan.close()

    @precondition(lambda self: any(self.carried.values()))
    @rule(side=sides, pick=picks)
    def an_old_completion_is_carried_again(self, side: str, pick: int) -> None:
        old: Sequence[Any] = [one for one in self.carried[side] if one[0].done]
        if old:
            news, entry = old[pick % len(old)]
            self.client.rpush(self.queues[side].keys.outbox, entry)
            self.truth.outbox.setdefault(side, []).append(news)
