"""Schedules of ours, each slot of which fires once, however many schedulers run (decision 13)."""

from __future__ import annotations

from typing import Any

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call, Word, command, scripted, short_text, whole
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.replies import DueSlots, Slot
from echomq_app.protocol.states import SlotFiring


def slot_write(keys: QueueKeys, slot: Slot, seen: Slot | None) -> Call[bool]:
    """Write a schedule over the one that was seen; ``False`` when another stands there by now."""
    names = (keys.slots, keys.slot(_named(slot.name)))
    args: tuple[Word, ...] = (
        slot.name,
        slot.template,
        short_text("a revision", slot.revision),
        whole("due_ms", slot.due_ms, 0),
        "" if seen is None else seen.revision,
        "" if seen is None or seen.due_ms is None else whole("due_ms", seen.due_ms, 0),
    )
    return scripted("slot_write", names, args, bool)


def slot_remove(keys: QueueKeys, name: str, revision: str = "") -> Call[bool]:
    """End a schedule; ``False`` when there is none of that name and, if given, that revision."""
    return scripted("slot_remove", (keys.slots, keys.slot(_named(name))), (name, revision), bool)


def slot_fire(
    keys: QueueKeys,
    slot: Slot,
    *,
    job_id: str,
    payload: bytes,
    last_ms: int,
    next_ms: int,
    every_missed: bool,
) -> Call[SlotFiring]:
    """Admit the job of a slot that is due and move on; refused where the caller saw another state."""
    names = (
        keys.slots,
        keys.slot(_named(slot.name)),
        keys.row(job_id),
        keys.pending,
        keys.base,
        keys.wake,
    )
    args: tuple[Word, ...] = (
        slot.name,
        whole("due_ms", slot.due_ms, 0),
        slot.revision,
        whole("last_ms", last_ms, 0),
        whole("next_ms", next_ms, 0),
        "1" if every_missed else "",
        job_id,
        payload,
    )
    return scripted("slot_fire", names, args, replies.slot_firing)


def slots_due(keys: QueueKeys, limit: int) -> Call[DueSlots]:
    """At most ``limit`` schedules whose slots are due, and how long until another one is."""
    args = (whole("a limit", limit, 1),)
    return scripted("slots_due", (keys.slots, keys.base), args, replies.due_slots)


def slot_record(keys: QueueKeys, name: str) -> Call[tuple[bytes | None, ...]]:
    """A schedule's revision and template as they are kept."""
    record = keys.slot(_named(name))
    return command(record, "HMGET", record, "revision", "template", read=tuple)


def slot_score(keys: QueueKeys, name: str) -> Call[int | None]:
    """When a schedule's next slot is due, ``None`` when the registry does not name it."""
    return command(keys.slots, "ZSCORE", keys.slots, _named(name), read=_score)


def _score(raw: Any) -> int | None:
    return None if raw is None else int(float(raw))


def _named(name: str) -> str:
    return short_text("a schedule's name", name)
