"""What is done to a queue as a whole, and to what jobs share: emptying, deleting, keys, a ceiling."""

from __future__ import annotations

from typing import Final

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call, command, lease_ms, scripted, short_text, whole
from echomq_app.protocol.calls.claiming import MAX_CLAIMS
from echomq_app.protocol.ids import JobId, valid_job_id
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Repeat

MAX_BUDGET: Final = 5000


def drain(
    keys: QueueKeys,
    limit: int,
    *,
    scheduled: bool = False,
    label: str = "",
    receipt_ms: int = 0,
) -> Call[int]:
    """End at most ``limit`` jobs that wait; how many left, and fewer when nothing waits any more."""
    names = (keys.pending, keys.schedule, keys.base)
    args = (
        whole("a limit", limit, 1),
        "1" if scheduled else "",
        label,
        whole("receipt_ms", receipt_ms, 0),
    )
    return scripted("drain", names, args, replies.number)


def obliterate(keys: QueueKeys, *, force: bool = False, budget: int = 1000) -> Call[bool]:
    """Let at most ``budget`` jobs and lanes of a paused queue go; whether more is left."""
    args = ("1" if force else "", whole("a budget", budget, 1, MAX_BUDGET))
    return scripted("obliterate", (keys.meta, keys.base), args, bool)


def update_data(keys: QueueKeys, job_id: str, payload: bytes) -> Call[bool]:
    """Replace a payload; ``False`` when the job is gone, ``Locked`` when somebody runs it."""
    names = (keys.row(job_id), keys.active)
    return scripted("update_data", names, (job_id, payload), replies.held, Repeat.NEVER)


def dedup(keys: QueueKeys, did: str, job_id: str, keep_ms: int) -> Call[JobId]:
    """Park a deduplication key for a job; the job that it stands for, whoever parked it."""
    names = (keys.dedup(short_text("a deduplication key", did)), keys.base)
    args = (did, valid_job_id(job_id), whole("keep_ms", keep_ms, 1))
    return scripted("dedup", names, args, replies.parked)


def dedup_holder(keys: QueueKeys, did: str) -> Call[JobId | None]:
    """The job that a deduplication key stands for, ``None`` when nobody has parked it."""
    key = keys.dedup(short_text("a deduplication key", did))
    return command(key, "GET", key, read=replies.job_id_or_none)


def rate(keys: QueueKeys) -> Call[None]:
    """Hear whether the queue is below its ceiling; ``CeilingReached`` when it is not."""
    return scripted("rate", (keys.meta, keys.active), (), replies.nothing)


def set_rate(keys: QueueKeys, most: int | None) -> Call[None]:
    """Let at most ``most`` jobs run at a time among claimers that consult; ``None``: any number."""
    if most is None:
        return command(keys.meta, "HDEL", keys.meta, "concurrency", read=replies.nothing)
    ceiling = whole("a ceiling", most, 1)
    return command(keys.meta, "HSET", keys.meta, "concurrency", ceiling, read=replies.nothing)


def rate_consult(
    keys: QueueKeys, lease: int, size: int, label: str = ""
) -> Call[list[replies.Claimed]]:
    """Lease as ``claim_many`` does, up to the ceiling; ``CeilingReached`` when it is reached."""
    return scripted(
        "rate_consult",
        (keys.pending, keys.active, keys.dead, keys.base, keys.wake),
        (lease_ms(lease), whole("a batch size", size, 1, MAX_CLAIMS), label),
        replies.claims,
        Repeat.NEVER,
    )
