"""Transitions as values: a function a verb, which gives script, KEYS, ARGV and how to read the reply.

Nothing here talks to a server. A label is unique to one claim (decision 3); ``""`` is none.
Times on the wire are whole milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from echomq_app.protocol import replies
from echomq_app.protocol.errors import InvalidInput, InvalidLease
from echomq_app.protocol.ids import JobId, valid_job_id
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.script import Script, script
from echomq_app.protocol.states import Admission, Completion, Repeat, Requeued, Retried, State

T = TypeVar("T")
Word = str | bytes | int

MAX_LEASE_MS: Final = 2**31
MAX_CLAIMS: Final = 1000
MAX_BULK_JOBS: Final = 500
MAX_BULK_BYTES: Final = 1 << 20
MAX_ERROR_BYTES: Final = 8192
SUBKEY_MS: Final = 30 * 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One round trip before it is made.

    ``script`` runs as EVALSHA with ``keys`` and ``args``; without one, ``args`` is a plain command.
    ``keys`` name the slot that the call belongs to.
    """

    verb: str
    script: Script | None
    keys: tuple[str, ...]
    args: tuple[Word, ...]
    read: Callable[[Any], T]
    repeat: Repeat


class Extension(NamedTuple):
    """A lease to renew: the claim's id, token and label."""

    job_id: str
    token: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What a completion leaves (decision 11). ``receipt_ms`` 0 leaves nothing at all."""

    mark: str = ""
    receipt_ms: int = 0
    outcome: bytes | None = None
    result_ms: int = 0
    limit: int = 0


NOTHING: Final = Retention()


def lease_ms(value: object) -> int:
    """A lease in whole milliseconds, 1 to 2**31, else ``InvalidLease``."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_LEASE_MS:
        raise InvalidLease(
            f"a lease is a whole number of milliseconds from 1 to {MAX_LEASE_MS}; got {value!r:.60}"
        )
    return value


def _whole(name: str, value: object, low: int, high: int = 2**53 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInput(f"{name} is a whole number from {low} to {high}; got {value!r:.60}")
    return value


def _token(value: object) -> str:
    return str(_whole("a token", value, 1))


def _scripted(
    verb: str,
    keys: Sequence[str],
    args: Sequence[Word],
    read: Callable[[Any], T],
    repeat: Repeat = Repeat.SAFE,
) -> Call[T]:
    return Call(verb, script(verb), tuple(keys), tuple(args), read, repeat)


def capped_error(text: str) -> str:
    """``text`` in at most 8 kB of UTF-8, its head and its tail kept (decision 16)."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= MAX_ERROR_BYTES:
        return raw.decode()
    cut = b"\n[...]\n"
    half = (MAX_ERROR_BYTES - len(cut)) // 2
    return (
        raw[:half].decode("utf-8", "ignore") + cut.decode() + raw[-half:].decode("utf-8", "ignore")
    )


def enqueue(keys: QueueKeys, job_id: str, payload: bytes) -> Call[Admission]:
    """Admit a job, tell workers, and refuse what a living receipt has ended."""
    row = keys.row(job_id)
    return _scripted(
        "enqueue",
        (row, keys.pending, keys.wake, keys.result(job_id)),
        (job_id, payload),
        replies.admission,
    )


def enqueue_many(keys: QueueKeys, jobs: Sequence[tuple[str, bytes]]) -> Call[list[Admission]]:
    """Admit at most 500 jobs or 1 MiB in one script; ``InvalidInput`` outside that."""
    if not 0 < len(jobs) <= MAX_BULK_JOBS:
        raise InvalidInput(f"enqueue 1 to {MAX_BULK_JOBS} jobs in one call; got {len(jobs)}")
    rows = [keys.row(job_id) for job_id, _ in jobs]
    args = [word for job in jobs for word in job]
    return _scripted(
        "enqueue_many", (keys.pending, keys.wake, keys.base, *rows), args, replies.admissions
    )


def bulk_chunks(jobs: Sequence[tuple[str, bytes]]) -> list[Sequence[tuple[str, bytes]]]:
    """Cut jobs into pieces that one ``enqueue_many`` may carry (decision 14)."""
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


def schedule_at(keys: QueueKeys, job_id: str, payload: bytes, at_ms: int) -> Call[Admission]:
    """Admit a job that may not run before ``at_ms`` (ms since 1970, the caller's clock)."""
    return _schedule(keys, job_id, payload, "at", at_ms)


def schedule_in(keys: QueueKeys, job_id: str, payload: bytes, delay_ms: int) -> Call[Admission]:
    """Admit a job that may not run for ``delay_ms`` on the server's clock."""
    return _schedule(keys, job_id, payload, "in", delay_ms)


def _schedule(
    keys: QueueKeys, job_id: str, payload: bytes, mode: str, value: int
) -> Call[Admission]:
    row = keys.row(job_id)
    return _scripted(
        "schedule",
        (row, keys.schedule, keys.result(job_id)),
        (job_id, payload, mode, _whole("a time in milliseconds", value, 0)),
        replies.admission,
    )


def is_paused(keys: QueueKeys) -> Call[bool]:
    """Whether the pause flag has any value; a meta that cannot be read counts as paused."""
    return Call(
        "is_paused", None, (keys.meta,), ("HGET", keys.meta, "paused"), replies.paused, Repeat.SAFE
    )


def claim(keys: QueueKeys, lease: int, label: str = "") -> Call[replies.Claimed | None]:
    """The seed's claim: one job or ``None``. Read ``is_paused`` first; it is not inside."""
    args: tuple[Word, ...] = (lease_ms(lease), label) if label else (lease_ms(lease),)
    return _scripted(
        "claim", (keys.pending, keys.active, keys.base), args, replies.claimed, Repeat.NEVER
    )


def claim_many(
    keys: QueueKeys, lease: int, size: int, label: str = ""
) -> Call[list[replies.Claimed]]:
    """Up to ``size`` of the oldest jobs, one deadline; empty when paused or when none waits."""
    return _scripted(
        "claim_many",
        (keys.pending, keys.active, keys.dead, keys.base, keys.wake),
        (lease_ms(lease), _whole("a batch size", size, 1, MAX_CLAIMS), label),
        replies.claims,
        Repeat.NEVER,
    )


def beat(keys: QueueKeys, *, batch: int, lease: int, size: int, label: str) -> Call[replies.Beat]:
    """Reap, promote, trim and claim in one script; with ``size`` 0 nothing is claimed."""
    return _scripted(
        "beat",
        (keys.schedule, keys.pending, keys.active, keys.dead, keys.base, keys.wake),
        (
            _whole("a batch", batch, 0),
            lease_ms(lease),
            _whole("a batch size", size, 0, MAX_CLAIMS),
            label,
        ),
        replies.beat,
        Repeat.NEVER if size else Repeat.SAFE,
    )


def complete(
    keys: QueueKeys, job_id: str, token: int, label: str = "", keep: Retention = NOTHING
) -> Call[Completion]:
    """Finish a held job; ``Stale`` when another claim holds it, or none does."""
    names = (keys.active, keys.row(job_id), keys.base)
    held: tuple[Word, ...] = (job_id, _token(token), label, keep.mark, keep.receipt_ms)
    if keep.outcome is not None and keep.result_ms > 0:
        kept = (*held, keep.outcome, keep.outcome, keep.result_ms, keep.limit)
        return _scripted("complete_keep", names, kept, replies.completion)
    if keep.receipt_ms:
        result = keep.outcome if keep.outcome is not None else job_id
        return _scripted("complete", names, (*held, result), replies.completion)
    plain = held[:3] if label else held[:2]
    return _scripted("complete", names, plain, replies.completion)


def retry(
    keys: QueueKeys,
    job_id: str,
    token: int,
    *,
    delay_ms: int,
    max_attempts: int,
    error: str,
    label: str = "",
    report: bytes | None = None,
) -> Call[Retried]:
    """Park a held job that failed, or bury it when it has had its attempts.

    ``max_attempts`` 0 buries at once. ``report`` joins the newest ten of the job's errors.
    """
    args: list[Word] = [
        job_id,
        _token(token),
        _whole("a delay in milliseconds", delay_ms, 0),
        _whole("max_attempts", max_attempts, 0),
        capped_error(error),
        label,
    ]
    if report is not None:
        args += [report, SUBKEY_MS]
    names = (keys.active, keys.schedule, keys.dead, keys.row(job_id), keys.base)
    return _scripted("retry", names, args, replies.retried)


def release(keys: QueueKeys, job_id: str, token: int, label: str = "") -> Call[None]:
    """Give a held job back to its waiting set at once; the claim does not count."""
    names = (keys.active, keys.pending, keys.row(job_id), keys.base, keys.wake)
    return _scripted("release", names, (job_id, _token(token), label), replies.nothing)


def delay_in(
    keys: QueueKeys, job_id: str, token: int, delay_ms: int, label: str = ""
) -> Call[None]:
    """Park a held job for ``delay_ms``; the claim does not count."""
    return _delay(keys, job_id, token, "in", delay_ms, label)


def delay_at(keys: QueueKeys, job_id: str, token: int, at_ms: int, label: str = "") -> Call[None]:
    """Park a held job until ``at_ms`` (ms since 1970); the claim does not count."""
    return _delay(keys, job_id, token, "at", at_ms, label)


def _delay(
    keys: QueueKeys, job_id: str, token: int, mode: str, value: int, label: str
) -> Call[None]:
    names = (keys.row(job_id), keys.active, keys.schedule, keys.base)
    time = _whole("a time in milliseconds", value, 0)
    return _scripted("delay", names, (job_id, _token(token), mode, time, label), replies.nothing)


def promote(keys: QueueKeys, batch: int) -> Call[int]:
    """Move at most ``batch`` due jobs to their waiting sets; how many moved."""
    names = (keys.schedule, keys.pending, keys.base, keys.wake)
    return _scripted("promote", names, (_whole("a batch", batch, 1),), replies.number)


def reap(keys: QueueKeys, limit: int = 100) -> Call[int]:
    """Give back at most ``limit`` lapsed jobs; how many came back."""
    names = (keys.active, keys.pending, keys.base, keys.wake)
    return _scripted("reap", names, (_whole("a limit", limit, 1),), replies.number)


def trim(keys: QueueKeys, limit: int = 100) -> Call[int]:
    """Forget at most ``limit`` receipts and outcomes whose time is over; how many."""
    return _scripted("trim", (keys.base,), (_whole("a limit", limit, 1),), replies.number)


def extend(keys: QueueKeys, job_id: str, token: int, lease: int, label: str = "") -> Call[bool]:
    """Renew a lease; ``False`` when the job is gone, ``Stale`` when another claim holds it."""
    args = (job_id, _token(token), lease_ms(lease), label)
    return _scripted("extend", (keys.active, keys.row(job_id)), args, replies.held)


def extend_many(keys: QueueKeys, lease: int, claims: Sequence[Extension]) -> Call[list[JobId]]:
    """Renew many leases to one deadline; the ids that the caller holds no more."""
    args: list[Word] = [lease_ms(lease)]
    for job_id, token, label in claims:
        args += [valid_job_id(job_id), _token(token), label]
    return _scripted("extend_many", (keys.active, keys.base), args, replies.job_ids)


def requeue(keys: QueueKeys, job_id: str, label: str = "") -> Call[Requeued]:
    """Give a dead job all its attempts again; ``WrongState`` when it is not dead."""
    names = (keys.row(job_id), keys.dead, keys.pending, keys.base, keys.wake)
    return _scripted("requeue", names, (job_id, label), replies.requeued)


def requeue_many(keys: QueueKeys, job_ids: Sequence[str], label: str) -> Call[list[Requeued]]:
    """Give many dead jobs all their attempts again, each judged for itself."""
    if not 0 < len(job_ids) <= MAX_BULK_JOBS:
        raise InvalidInput(f"requeue 1 to {MAX_BULK_JOBS} jobs in one call; got {len(job_ids)}")
    names = (keys.dead, keys.pending, keys.base, keys.wake)
    args: list[Word] = [label, *(valid_job_id(job_id) for job_id in job_ids)]
    return _scripted("requeue_many", names, args, replies.requeues)


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
    args = (job_id, flag, label, _whole("receipt_ms", receipt_ms, 0), did)
    return _scripted("remove", names, args, replies.held)


def pause(keys: QueueKeys) -> Call[bool]:
    """Stop every claim on the queue; whether that changed anything."""
    return _scripted("pause", (keys.meta,), (), bool)


def resume(keys: QueueKeys) -> Call[bool]:
    """Let claims go on and wake workers; whether that changed anything."""
    return _scripted("resume", (keys.meta, keys.pending, keys.wake), (), bool)


def progress(keys: QueueKeys, job_id: str, text: str) -> Call[bool]:
    """Note and publish how far a job has come; ``False`` when it is gone."""
    return _scripted("progress", (keys.row(job_id), keys.base), (job_id, text), replies.held)


def add_log(
    keys: QueueKeys,
    job_id: str,
    line: str,
    keep: int | None = None,
    keep_ms: int | None = SUBKEY_MS,
) -> Call[int | None]:
    """Append to a job's log; how many lines are kept, ``None`` when the job is gone."""
    args = (
        line,
        "" if keep is None else _whole("keep", keep, 1),
        "" if keep_ms is None else _whole("keep_ms", keep_ms, 1),
    )
    names = (keys.row(job_id), keys.logs(job_id))
    return _scripted("add_log", names, args, replies.number_or_gone, Repeat.NEVER)


def state(keys: QueueKeys, job_id: str) -> Call[State]:
    """Where a job is, judged by the sets."""
    row = keys.row(job_id)
    names = (keys.pending, keys.active, keys.schedule, keys.dead, row, keys.base)
    return _scripted("state", names, (job_id,), replies.state)


def counts(keys: QueueKeys) -> Call[replies.Counts]:
    """The queue's numbers, read together."""
    return _scripted("counts", (keys.base,), (), replies.counts)


def command(key: str, *words: Word, read: Callable[[Any], T]) -> Call[T]:
    """A plain read of one key, as a call."""
    return Call(str(words[0]).lower(), None, (key,), words, read, Repeat.SAFE)


def read_rows(keys: QueueKeys, members: Sequence[str], cut: int) -> Call[list[replies.Row]]:
    """The rows of a page, whatever its members are; payloads and errors cut to ``cut`` bytes."""
    args: list[Word] = [_whole("cut", cut, 0), *members]
    return _scripted("read_rows", (keys.base,), args, replies.rows)
