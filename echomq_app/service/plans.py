"""Verbs that take more than one round trip, as plans that a blocking or an awaited wire follows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from echomq_app.protocol import calls, ids, payload, replies
from echomq_app.protocol.calls import Call
from echomq_app.protocol.errors import EchoMQError, IdCollision, Stale, WrongType
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.keyspace import NODES, QUEUES, QueueKeys
from echomq_app.protocol.states import Admission, Completion, Reassigned, Requeued, Retried, State
from echomq_app.service.records import Lease
from echomq_app.wire.exchange import Answer

T = TypeVar("T")
Plan = Generator[Sequence[Call[Any]], list[Answer[Any]], T]

_MOST_ADMISSION_ROUNDS = 4
_MOST_MINTS = 8


def one(call: Call[T]) -> Plan[T]:
    """A plan of a single call."""
    (answer,) = yield (call,)
    value: T = answer.unwrap()
    return value


def admit(
    keys: QueueKeys,
    job_id: str,
    raw: bytes,
    call: Call[Admission],
    first: Answer[Admission] | None = None,
) -> Plan[Admission]:
    """Admit, and judge a duplicate by its mark alone (decision 8).

    ``ADMITTED`` when this call, or a lost sending of it, wrote the job; ``DUPLICATE`` when the very
    same payload was there before; raises ``IdCollision`` when the id is another job's. ``first``:
    what a sending of ``call`` has come to already.
    """
    for _ in range(_MOST_ADMISSION_ROUNDS):
        answer = first or (yield (call,))[0]
        first = None
        if answer.unwrap() is Admission.ADMITTED:
            return Admission.ADMITTED
        found = yield from admitted_marks(keys, job_id)
        if not found:
            continue
        if payload.mark(raw) not in found:
            raise IdCollision(job_id, keys.name)
        return Admission.ADMITTED if answer.resent else Admission.DUPLICATE
    raise IdCollision(job_id, keys.name)


def admitted_marks(keys: QueueKeys, job_id: str) -> Plan[list[str]]:
    """The marks of the job and of the receipt under ``job_id``; the row is read first, so one is seen.

    Both are there when another program, which knows no receipts, took an id whose job had ended.
    """
    row, result = keys.row(job_id), keys.result(job_id)
    answers = yield (
        calls.command(row, "HGET", row, "payload", read=_as_is),
        calls.command(result, "GET", result, read=replies.receipt),
    )
    raw, receipt = answers[0].unwrap(), answers[1].unwrap()
    row_marks = [] if raw is None else [payload.mark(raw)]
    return row_marks if receipt is None else [*row_marks, receipt.mark]


def _as_is(raw: Any) -> Any:
    return raw


def admit_new(
    keys: QueueKeys,
    minter: ids.Minter,
    raw: bytes,
    build: Callable[[JobId], Call[Admission]],
    first: tuple[JobId, Answer[Admission]] | None = None,
) -> Plan[JobId]:
    """Admit under a fresh id that nobody has seen yet; a collision mints another.

    ``first``: an id and what a sending under it has come to already.
    """
    job_id, answer = first or (minter.mint(), None)
    for _ in range(_MOST_MINTS):
        try:
            yield from admit(keys, job_id, raw, build(job_id), answer)
        except IdCollision:
            minter.step_aside()
            job_id, answer = minter.mint(), None
            continue
        return job_id
    raise IdCollision(job_id, keys.name)


def admit_many(keys: QueueKeys, jobs: Sequence[tuple[str, bytes]]) -> Plan[list[Admission]]:
    """Admit many in as few scripts as their number and size need; a verdict each, in order.

    An id that is another job's answers ``Admission.COLLISION``; the rest are admitted all the same.
    """
    verdicts: list[Admission] = []
    for chunk in calls.bulk_chunks(jobs):
        (answer,) = yield (calls.enqueue_many(keys, chunk),)
        judged: list[Admission] = answer.unwrap()
        if Admission.DUPLICATE not in judged:
            verdicts += judged
            continue
        for (job_id, raw), verdict in zip(chunk, judged, strict=True):
            if verdict is Admission.DUPLICATE:
                verdicts.append((yield from _judge_duplicate(keys, job_id, raw, answer.resent)))
            else:
                verdicts.append(verdict)
    return verdicts


def _judge_duplicate(keys: QueueKeys, job_id: str, raw: bytes, resent: bool) -> Plan[Admission]:
    found = yield from admitted_marks(keys, job_id)
    if not found:
        try:
            return (yield from admit(keys, job_id, raw, calls.enqueue(keys, job_id, raw)))
        except IdCollision:
            return Admission.COLLISION
    if payload.mark(raw) not in found:
        return Admission.COLLISION
    return Admission.ADMITTED if resent else Admission.DUPLICATE


def claim_one(keys: QueueKeys, lease_ms: int, label: str) -> Plan[replies.Claimed | None]:
    """The seed's claim with its pause read; asks again while ghosts alone came up (decision 5)."""
    calls.lease_ms(lease_ms)
    if (yield from is_paused(keys)):
        return None
    while True:
        (answer,) = yield (calls.claim(keys, lease_ms, label),)
        claimed: replies.Claimed | None = answer.unwrap()
        if claimed is not None:
            return claimed
        if (yield from one(pending_size(keys))) == 0:
            return None


def pending_size(keys: QueueKeys) -> Call[int]:
    """How many flat jobs wait."""
    return calls.command(keys.pending, "ZCARD", keys.pending, read=replies.number)


def is_paused(keys: QueueKeys) -> Plan[bool]:
    """Whether claims are stopped; a meta that cannot be read stops them too."""
    (answer,) = yield (calls.is_paused(keys),)
    if isinstance(answer.error, WrongType):
        return True
    return bool(answer.unwrap())


def complete(keys: QueueKeys, held: Lease, keep: calls.Retention) -> Plan[Completion]:
    """Finish; when a lost sending may have done it, the receipt tells whose end it was."""
    (answer,) = yield (calls.complete(keys, held.job_id, held.token, held.label, keep),)
    return (yield from settled(keys, held, answer))


def settled(keys: QueueKeys, held: Lease, answer: Answer[Completion]) -> Plan[Completion]:
    """What the answer to a completion means, with the receipt read where that is needed."""
    completion: Completion = answer.unwrap()
    if completion is Completion.GONE and answer.resent:
        result = keys.result(held.job_id)
        receipt = yield from one(calls.command(result, "GET", result, read=replies.receipt))
        if receipt is not None and (receipt.token, receipt.label) == (held.token, held.label):
            return Completion.COMPLETED
    return completion


def retried(keys: QueueKeys, held: Lease, answer: Answer[Retried]) -> Plan[Retried]:
    """What the answer to a retry means: ``parked`` is the receipt of a lost sending."""
    if isinstance(answer.error, Stale) and answer.error.reason == "parked":
        state = yield from one(calls.state(keys, held.job_id))
        return Retried.DEAD if state is State.DEAD else Retried.SCHEDULED
    return answer.unwrap()


def given_back(call: Call[None]) -> Plan[None]:
    """Release or delay: ``parked`` is the receipt of a lost sending, and no failure."""
    (answer,) = yield (call,)
    if not (isinstance(answer.error, Stale) and answer.error.reason == "parked"):
        answer.unwrap()


def requeue(keys: QueueKeys, job_id: str, label: str) -> Plan[Requeued]:
    """Requeue; ``parked`` is the receipt of a lost sending, and no failure."""
    (answer,) = yield (calls.requeue(keys, job_id, label),)
    if isinstance(answer.error, Stale) and answer.error.reason == "parked":
        return Requeued.REQUEUED
    requeued: Requeued = answer.unwrap()
    return requeued


def remove(keys: QueueKeys, job_id: str, *, force: bool, label: str, receipt_ms: int) -> Plan[bool]:
    """End a job's life; after a lost sending ``gone`` means that it was done."""
    call = calls.remove(keys, job_id, force=force, label=label, receipt_ms=receipt_ms)
    (answer,) = yield (call,)
    return bool(answer.unwrap()) or answer.resent


def lane_reassign(keys: QueueKeys, job_id: str, lane: str) -> Plan[Reassigned]:
    """Move a job to another lane; after a lost sending ``noop`` means that it was moved."""
    (answer,) = yield (calls.lane_reassign(keys, job_id, lane),)
    verdict: Reassigned = answer.unwrap()
    return Reassigned.MOVED if verdict is Reassigned.NOOP and answer.resent else verdict


def lane_reap(keys: QueueKeys, lane: str, batch: int, most: int) -> Plan[int]:
    """Give back a lane's lapsed jobs, looking at ``batch`` lapsed ones of whichever lane a step."""
    moved = passed = 0
    while moved < most:
        step = yield from one(calls.lane_reap(keys, lane, batch, passed))
        moved += step.moved
        passed += step.seen - step.moved
        if step.seen < batch:
            break
    return moved


def together(plans: Sequence[Plan[T]]) -> Plan[list[T | EchoMQError]]:
    """Plans side by side, their calls in one pipeline; a failure stands in its plan's place."""
    ends: list[Any] = [None] * len(plans)
    asking: dict[int, Sequence[Call[Any]]] = {}

    def step(place: int, answers: Any) -> None:
        try:
            asking[place] = plans[place].send(answers)
        except StopIteration as end:
            ends[place] = end.value
        except EchoMQError as error:
            ends[place] = error

    for place in range(len(plans)):
        step(place, None)
    while asking:
        asked = dict(asking)
        asking.clear()
        answers = iter((yield [call for wanted in asked.values() for call in wanted]))
        for place, wanted in asked.items():
            step(place, [next(answers) for _ in wanted])
    return ends


def every(step: Callable[[], Call[int]], batch: int, most: int) -> Plan[int]:
    """Repeat a bounded sweep until it comes up short, or ``most`` were moved."""
    total = 0
    while total < most:
        moved = yield from one(step())
        total += moved
        if moved < batch:
            break
    return total


def join_bus(queue: str) -> Plan[None]:
    """List the queue among those in use; a full server refuses it (decision 16)."""
    yield from one(calls.command(QUEUES, "SADD", QUEUES, queue, read=replies.number))


def known_queues() -> Plan[list[str]]:
    """The queues that our producers and workers have used, sorted."""
    return (yield from one(calls.command(QUEUES, "SMEMBERS", QUEUES, read=replies.names)))


def next_node() -> Plan[int]:
    """A node id of one's own for minting, 0 to 1023, in turn (decision 8)."""
    drawn = yield from one(calls.command(NODES, "INCR", NODES, read=replies.number))
    return drawn % (ids.MAX_NODE + 1)
