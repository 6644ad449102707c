"""What operators do to a queue and to the jobs that nobody runs."""

from __future__ import annotations

from collections.abc import Sequence

from echomq_app.protocol import replies
from echomq_app.protocol.calls.admission import MAX_BULK_JOBS
from echomq_app.protocol.calls.call import Call, Word, scripted, whole
from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.ids import valid_job_id
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Requeued


def requeue(keys: QueueKeys, job_id: str, label: str = "") -> Call[Requeued]:
    """Give a dead job all its attempts again; ``WrongState`` when it is not dead."""
    names = (keys.row(job_id), keys.dead, keys.pending, keys.base, keys.wake)
    return scripted("requeue", names, (job_id, label), replies.requeued)


def requeue_many(keys: QueueKeys, job_ids: Sequence[str], label: str) -> Call[list[Requeued]]:
    """Give many dead jobs all their attempts again, each judged for itself."""
    if not 0 < len(job_ids) <= MAX_BULK_JOBS:
        raise InvalidInput(f"requeue 1 to {MAX_BULK_JOBS} jobs in one call; got {len(job_ids)}")
    names = (keys.dead, keys.pending, keys.base, keys.wake)
    args: list[Word] = [label, *(valid_job_id(job_id) for job_id in job_ids)]
    return scripted("requeue_many", names, args, replies.requeues)


def remove(
    keys: QueueKeys,
    job_id: str,
    *,
    force: bool = False,
    label: str = "",
    receipt_ms: int = 0,
    did: str = "",
) -> Call[bool]:
    """End a job's life wherever it waits; ``False`` when it is gone, ``Locked`` when it is held."""
    names = (keys.row(job_id), keys.pending, keys.active, keys.schedule, keys.dead, keys.base)
    flag = "1" if force else ""
    args = (job_id, flag, label, whole("receipt_ms", receipt_ms, 0), did)
    return scripted("remove", names, args, replies.held)


def pause(keys: QueueKeys) -> Call[bool]:
    """Stop every claim on the queue; whether that changed anything."""
    return scripted("pause", (keys.meta,), (), bool)


def resume(keys: QueueKeys) -> Call[bool]:
    """Let claims go on and wake workers; whether that changed anything."""
    return scripted("resume", (keys.meta, keys.pending, keys.wake), (), bool)
