"""The verbs of our own schedules, blocking: each slot fires once, however many schedulers run."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import NamedTuple

from echomq_app.protocol import calls, payload, replies
from echomq_app.protocol.calls import Call
from echomq_app.protocol.errors import IdCollision
from echomq_app.protocol.ids import JobId, Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.replies import DueSlots, Slot
from echomq_app.protocol.states import SlotFiring
from echomq_app.service import plans
from echomq_app.service.plans import Plan
from echomq_app.wire.link import Wire

MOST_MINTS = 8


class Firing(NamedTuple):
    """What firing a slot came to, and the job that it admitted when it was fired."""

    verdict: SlotFiring
    job_id: JobId | None


class Slots:
    """The schedules of one queue. Times are ms since 1970; the caller computes which slots there are."""

    def __init__(self, wire: Wire, name: str, *, minter: Minter | None = None) -> None:
        self.keys = QueueKeys(name)
        self.name = name
        self.wire = wire
        self.minter = minter or Minter()

    def write(
        self, name: str, template: bytes, due_ms: int, seen: Slot | None = None
    ) -> Slot | None:
        """Write a schedule, new or over the one that was ``seen``; ``None`` when another stands there.

        Safe to repeat: its revision tells a resend. When somebody removed the schedule in between, a
        resent first write brings it back.
        """
        slot = Slot(name, due_ms, secrets.token_urlsafe(12), template)
        return slot if self.wire.run(calls.slot_write(self.keys, slot, seen)) else None

    def read(self, name: str) -> Slot | None:
        """A schedule as it stands; ``None`` when nothing has that name."""
        return self.wire.follow(read(self.keys, name))

    def due(self, limit: int = 100) -> DueSlots:
        """At most ``limit`` schedules whose slots are due by the server's clock."""
        return self.wire.run(calls.slots_due(self.keys, limit))

    def fire(
        self, slot: Slot, raw: bytes, *, last_ms: int, next_ms: int, every_missed: bool = False
    ) -> Firing:
        """Admit the job of a slot that was seen due, once, and move the schedule to ``next_ms``.

        ``last_ms``: the latest slot that is not after now; ``raw``: a payload with a nonce of its own.
        ``every_missed``: slots that were missed run one by one; without it only the latest runs.
        Safe to repeat: a slot that was fired has moved. After a lost reply ``MOVED`` may be our own
        firing, when its job has ended and left nothing.
        """

        def build(job_id: JobId) -> Call[SlotFiring]:
            return calls.slot_fire(
                self.keys,
                slot,
                job_id=job_id,
                payload=raw,
                last_ms=last_ms,
                next_ms=next_ms,
                every_missed=every_missed,
            )

        return self.wire.follow(fire(self.keys, self.minter, raw, build))

    def remove(self, name: str, revision: str = "") -> bool:
        """End a schedule; ``False`` when there is none of that name and, if given, that revision.

        Safe to repeat; without a revision a resend takes whatever has the name by then.
        """
        return self.wire.follow(remove(self.keys, name, revision))

    def count(self) -> int:
        """How many schedules there are."""
        key = self.keys.slots
        return self.wire.run(calls.command(key, "ZCARD", key, read=replies.number))


def read(keys: QueueKeys, name: str) -> Plan[Slot | None]:
    """Record and due time together."""
    answers = yield (calls.slot_record(keys, name), calls.slot_score(keys, name))
    (revision, template), due_ms = answers[0].unwrap(), answers[1].unwrap()
    if revision is None and due_ms is None:
        return None
    return Slot(name, due_ms, replies.text(revision or b""), template or b"")


def fire(
    keys: QueueKeys, minter: Minter, raw: bytes, build: Callable[[JobId], Call[SlotFiring]]
) -> Plan[Firing]:
    """Fire under a fresh id; one that is another job's already mints again."""
    for _ in range(MOST_MINTS):
        job_id = minter.mint()
        (answer,) = yield (build(job_id),)
        verdict: SlotFiring = answer.unwrap()
        if verdict is SlotFiring.FIRED:
            return Firing(verdict, job_id)
        if verdict is SlotFiring.DUPLICATE or answer.resent:
            marks = yield from plans.admitted_marks(keys, job_id)
            if payload.mark(raw) in marks:
                return Firing(SlotFiring.FIRED, job_id)
        if verdict is not SlotFiring.DUPLICATE:
            return Firing(verdict, None)
        minter.step_aside()
    raise IdCollision(job_id, keys.name)


def remove(keys: QueueKeys, name: str, revision: str) -> Plan[bool]:
    """Remove; after a lost sending *none* means that it was done."""
    (answer,) = yield (calls.slot_remove(keys, name, revision),)
    return bool(answer.unwrap()) or answer.resent
