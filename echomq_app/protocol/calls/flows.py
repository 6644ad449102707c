"""Flows: parents that wait for children, and what children tell parents on other queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from echomq_app.protocol import replies
from echomq_app.protocol.calls.admission import MAX_BULK_JOBS
from echomq_app.protocol.calls.call import Call, Word, command, scripted, whole
from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.ids import valid_job_id
from echomq_app.protocol.keyspace import QueueKeys, valid_queue_name
from echomq_app.protocol.states import Fate, Repeat

MAX_CARRIED: Final = 1000
_CARRIED: Final = "carried"
_ASIDE: Final = "aside"


class FlowPart(NamedTuple):
    """A job of a flow as one queue takes it.

    ``parent`` is ``""`` for none, ``parent_queue`` ``""`` when it is the same queue. ``fate``: what
    its death means for the parent. ``children``: how many jobs it waits for, wherever they are.
    """

    job_id: str
    payload: bytes
    parent: str = ""
    parent_queue: str = ""
    fate: Fate = Fate.FAILS
    children: int = 0


def flow_add(keys: QueueKeys, parts: Sequence[FlowPart]) -> Call[int | None]:
    """Admit the jobs of a flow that one queue takes, all or none, at most 500.

    ``None`` when they were admitted; else the place of the first whose id was there before.
    """
    if not 0 < len(parts) <= MAX_BULK_JOBS:
        raise InvalidInput(f"a flow has 1 to {MAX_BULK_JOBS} jobs on a queue; got {len(parts)}")
    rows = [keys.row(part.job_id) for part in parts]
    args: list[Word] = []
    for part in parts:
        parent = valid_job_id(part.parent) if part.parent else ""
        queue = valid_queue_name(part.parent_queue) if part.parent_queue else ""
        children = whole("how many children a job waits for", part.children, 0)
        args += [part.job_id, part.payload, parent, queue, Fate(part.fate).value, children]
    names = (keys.pending, keys.wake, keys.base, *rows)
    return scripted("flow_add", names, args, replies.taken)


def flow_deliver(keys: QueueKeys, parent: str, child: str, fate: Fate, text: bytes) -> Call[bool]:
    """Tell a parent on ``keys`` how a child elsewhere ended; whether that was news."""
    args = (parent, child, Fate(fate).value, text)
    return scripted("flow_deliver", (keys.row(parent), keys.base), args, bool)


def outbox(keys: QueueKeys, most: int) -> Call[list[bytes]]:
    """The oldest ``most`` entries that wait to be carried to other queues."""
    last = whole("how many entries", most, 1, MAX_CARRIED) - 1
    return command(keys.outbox, "LRANGE", keys.outbox, 0, last, read=list)


def flow_sweep(keys: QueueKeys, carried: Sequence[bytes], aside: Sequence[bytes] = ()) -> Call[int]:
    """Take entries out of the outbox: ``carried`` for good, ``aside`` to where an operator finds them.

    Never sent again: an entry that came meanwhile may read the same as one that was carried.
    """
    args = [word for entry in carried for word in (_CARRIED, entry)]
    args += [word for entry in aside for word in (_ASIDE, entry)]
    return scripted("flow_sweep", (keys.outbox, keys.aside), args, replies.number, Repeat.NEVER)


def children_left(keys: QueueKeys, parent: str) -> Call[int]:
    """How many children a parent still waits for; 0 when it waits for none."""
    key = keys.children(parent, "dependencies")
    return command(key, "GET", key, read=_count)


def children_ends(keys: QueueKeys, parent: str, kind: str) -> Call[dict[str, bytes]]:
    """Children that ended and what they left; ``kind``: processed, failed or unsuccessful."""
    key = keys.children(parent, kind)
    return command(key, "HGETALL", key, read=replies.fields)


def _count(raw: Any) -> int:
    return max(int(raw), 0) if raw is not None else 0
