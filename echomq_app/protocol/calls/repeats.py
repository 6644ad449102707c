"""Repeats as the reference keeps them: a registry that its pumps may fire too (protocol 4.18)."""

from __future__ import annotations

from collections.abc import Sequence

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call, command, scripted, short_text, whole
from echomq_app.protocol.ids import valid_job_id
from echomq_app.protocol.keyspace import QueueKeys


def repeat_register(
    keys: QueueKeys, name: str, *, every_ms: int, template: bytes, first_ms: int
) -> Call[bool]:
    """Register a repeat; ``False`` when there is one of that name, which stays as it is."""
    names = (keys.repeat, keys.repeat_record(_named(name)))
    args = (
        name,
        whole("every_ms", every_ms, 1),
        template,
        whole("first_ms", first_ms, 0),
    )
    return scripted("repeat_register", names, args, bool)


def repeat_cancel(keys: QueueKeys, name: str) -> Call[bool]:
    """End a repeat; ``False`` when there is none of that name."""
    names = (keys.repeat, keys.repeat_record(_named(name)))
    return scripted("repeat_cancel", names, (name,), bool)


def repeat_fire(keys: QueueKeys, job_ids: Sequence[str]) -> Call[list[replies.Fired]]:
    """Fire what is due, at most one repeat an id; each repeat and its job."""
    names = (keys.repeat, keys.pending, keys.base, keys.wake)
    args = [valid_job_id(job_id) for job_id in job_ids]
    return scripted("repeat_fire", names, args, replies.fired)


def repeat_record(keys: QueueKeys, name: str) -> Call[tuple[bytes | None, ...]]:
    """A repeat's interval and template as they are kept."""
    record = keys.repeat_record(_named(name))
    return command(record, "HMGET", record, "every_ms", "template", read=tuple)


def _named(name: str) -> str:
    return short_text("a repeat's name", name)
