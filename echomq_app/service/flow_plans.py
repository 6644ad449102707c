"""Flows as plans: their admission, what a parent knows, and what children tell from other queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from echomq_app.protocol import calls, outbox, payload, replies
from echomq_app.protocol.errors import EchoMQError, IdCollision
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Admission, State
from echomq_app.service.flow_tree import FlowJob, Piece, chunks, cut
from echomq_app.service.plans import Plan, admitted_marks, one, together
from echomq_app.wire.exchange import Answer

_MOST_ROUNDS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """What a parent knows: how many children it waits for, and how the others ended, by id."""

    left: int
    values: dict[str, bytes]
    failed: dict[str, str]
    """They died, and the parent died of it."""
    ignored: dict[str, str]
    """They died, and the parent goes on."""


class Carried(NamedTuple):
    """How many entries of an outbox were dealt with; ``aside``: how many of those name no parent."""

    entries: int
    aside: int


def add(flow: FlowJob) -> Plan[Admission]:
    """Admit from the top, queue by queue: no child is there before its parent waits for it.

    A top that is there and waits no more needs no more children: the rest is not sent.
    """
    hops = cut(flow)
    found: list[Admission] = []
    for hop in hops:
        answers = yield [calls.flow_add(piece.keys, piece.parts) for piece in hop]
        judged = yield from together([_judge(*pair) for pair in zip(hop, answers, strict=True)])
        for verdict in judged:
            if isinstance(verdict, EchoMQError):
                raise verdict
            found.append(verdict)
        if hop is hops[0] and found == [Admission.DUPLICATE] and len(hops) > 1:
            state = yield from one(calls.state(hop[0].keys, flow.job_id))
            if state is not State.AWAITING_CHILDREN:
                break
    return Admission.ADMITTED if Admission.ADMITTED in found else Admission.DUPLICATE


def _judge(piece: Piece, answer: Answer[int | None]) -> Plan[Admission]:
    """An id that was there is judged by its mark alone (decision 8)."""
    for _ in range(_MOST_ROUNDS):
        place = answer.unwrap()
        if place is None:
            return Admission.ADMITTED
        part = piece.parts[place]
        marks = yield from admitted_marks(piece.keys, part.job_id)
        if marks and payload.mark(part.payload) in marks:
            return Admission.ADMITTED if answer.resent else Admission.DUPLICATE
        if marks:
            break
        (answer,) = yield (calls.flow_add(piece.keys, piece.parts),)
    raise IdCollision(part.job_id, piece.keys.name)


def add_many(flows: Sequence[FlowJob]) -> Plan[list[Admission | EchoMQError]]:
    """Admit flows side by side, at most 500 jobs or 1 MiB at a time; each judged for itself."""
    verdicts: list[Admission | EchoMQError] = []
    for chunk in chunks(flows):
        verdicts += yield from together([add(flow) for flow in chunk])
    return verdicts


def children(keys: QueueKeys, parent: str) -> Plan[Children]:
    """What a parent knows of its children."""
    left, *ends = yield (
        calls.children_left(keys, parent),
        *(
            calls.children_ends(keys, parent, kind)
            for kind in ("processed", "failed", "unsuccessful")
        ),
    )
    values, failed, ignored = (answer.unwrap() for answer in ends)
    return Children(
        left=left.unwrap(), values=values, failed=_texts(failed), ignored=_texts(ignored)
    )


def _texts(ends: dict[str, Any]) -> dict[str, str]:
    return {child: replies.text(error) for child, error in ends.items()}


def carry(keys: QueueKeys, batch: int) -> Plan[Carried]:
    """Tell the parents that the oldest entries name, then take those entries out.

    An entry whose parent's queue cannot be reached stays; the others go on, then its error is raised.
    """
    found = yield from one(calls.outbox(keys, batch))
    read = [(entry, outbox.read_entry(entry)) for entry in found]
    told = [(entry, what) for entry, what in read if what is not None]
    aside = [entry for entry, what in read if what is None]
    answers: list[Answer[bool]] = []
    if told:
        answers = yield [calls.flow_deliver(QueueKeys(what.queue), *what[1:]) for _, what in told]
    carried = [
        entry for (entry, _), answer in zip(told, answers, strict=True) if answer.error is None
    ]
    if carried or aside:
        yield from one(calls.flow_sweep(keys, carried, aside))
    for answer in answers:
        answer.unwrap()
    return Carried(len(found), len(aside))


def carry_all(keys: QueueKeys, batch: int, most: int) -> Plan[Carried]:
    """Carry until the outbox comes up short, or ``most`` entries were dealt with."""
    entries = aside = 0
    while entries < most:
        part = yield from carry(keys, batch)
        entries, aside = entries + part.entries, aside + part.aside
        if part.entries < batch:
            break
    return Carried(entries, aside)
