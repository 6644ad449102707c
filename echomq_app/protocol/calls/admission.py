"""Jobs that come in: at once, later, many together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call, Word, scripted, whole
from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.keyspace import QueueKeys, valid_lane
from echomq_app.protocol.states import Admission

MAX_BULK_JOBS: Final = 500
MAX_BULK_BYTES: Final = 1 << 20


def enqueue(keys: QueueKeys, job_id: str, payload: bytes) -> Call[Admission]:
    """Admit a job, tell workers, and refuse what a living receipt has ended."""
    row, result = keys.row_and_result(job_id)
    names = (row, keys.pending, keys.wake, result)
    return scripted("enqueue", names, (job_id, payload), replies.admission)


def enqueue_many(keys: QueueKeys, jobs: Sequence[tuple[str, bytes]]) -> Call[list[Admission]]:
    """Admit at most 500 jobs or 1 MiB in one script; ``InvalidInput`` outside that."""
    if not 0 < len(jobs) <= MAX_BULK_JOBS:
        raise InvalidInput(f"enqueue 1 to {MAX_BULK_JOBS} jobs in one call; got {len(jobs)}")
    rows = keys.rows([job_id for job_id, _ in jobs])
    names = (keys.pending, keys.wake, keys.base, *rows)
    return scripted("enqueue_many", names, tuple(chain.from_iterable(jobs)), replies.admissions)


def bulk_chunks(jobs: Sequence[tuple[str, bytes]]) -> list[Sequence[tuple[str, bytes]]]:
    """Cut jobs into pieces that one ``enqueue_many`` may carry (decision 14)."""
    if 0 < len(jobs) <= MAX_BULK_JOBS and sum([len(raw) for _, raw in jobs]) <= MAX_BULK_BYTES:
        return [jobs]
    chunks: list[Sequence[tuple[str, bytes]]] = []
    start = size = 0
    for index, (_, payload) in enumerate(jobs):
        if index > start and (
            index - start >= MAX_BULK_JOBS or size + len(payload) > MAX_BULK_BYTES
        ):
            chunks.append(jobs[start:index])
            start, size = index, 0
        size += len(payload)
    if len(jobs) > start:
        chunks.append(jobs[start:])
    return chunks


def schedule_at(
    keys: QueueKeys, job_id: str, payload: bytes, at_ms: int, lane: str | None = None
) -> Call[Admission]:
    """Admit a job that may not run before ``at_ms`` (ms since 1970, the caller's clock)."""
    return _schedule(keys, job_id, payload, "at", at_ms, lane)


def schedule_in(
    keys: QueueKeys, job_id: str, payload: bytes, delay_ms: int, lane: str | None = None
) -> Call[Admission]:
    """Admit a job that may not run for ``delay_ms`` on the server's clock."""
    return _schedule(keys, job_id, payload, "in", delay_ms, lane)


def _schedule(
    keys: QueueKeys, job_id: str, payload: bytes, mode: str, value: int, lane: str | None
) -> Call[Admission]:
    row = keys.row(job_id)
    args: tuple[Word, ...] = (job_id, payload, mode, whole("a time in milliseconds", value, 0))
    if lane is not None:
        args = (*args, valid_lane(lane))
    return scripted("schedule", (row, keys.schedule, keys.result(job_id)), args, replies.admission)
