"""What a holder says of its job: done, failed, given back, later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call, Word, scripted, token_word, whole
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Completion, Retried

MAX_ERROR_BYTES: Final = 8192
SUBKEY_MS: Final = 30 * 24 * 3600 * 1000


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Retention:
    """What a completion leaves (decision 11). ``receipt_ms`` 0 leaves nothing at all."""

    mark: str = ""
    receipt_ms: int = 0
    outcome: bytes | None = None
    result_ms: int = 0
    limit: int = 0


NOTHING: Final = Retention()


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


def complete(
    keys: QueueKeys, job_id: str, token: int, label: str = "", keep: Retention = NOTHING
) -> Call[Completion]:
    """Finish a held job; ``Stale`` when another claim holds it, or none does."""
    names = (keys.active, keys.row(job_id), keys.base)
    held: tuple[Word, ...] = (job_id, token_word(token), label, keep.mark, keep.receipt_ms)
    if keep.outcome is not None and keep.result_ms > 0:
        kept = (*held, keep.outcome, keep.outcome, keep.result_ms, keep.limit)
        return scripted("complete_keep", names, kept, replies.completion)
    if keep.receipt_ms:
        result = keep.outcome if keep.outcome is not None else job_id
        return scripted("complete", names, (*held, result), replies.completion)
    plain = held[:3] if label else held[:2]
    return scripted("complete", names, plain, replies.completion)


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
        token_word(token),
        whole("a delay in milliseconds", delay_ms, 0),
        whole("max_attempts", max_attempts, 0),
        capped_error(error),
        label,
    ]
    if report is not None:
        args += [report, SUBKEY_MS]
    names = (keys.active, keys.schedule, keys.dead, keys.row(job_id), keys.base)
    return scripted("retry", names, args, replies.retried)


def release(keys: QueueKeys, job_id: str, token: int, label: str = "") -> Call[None]:
    """Give a held job back to its waiting set at once; the claim does not count."""
    names = (keys.active, keys.pending, keys.row(job_id), keys.base, keys.wake)
    return scripted("release", names, (job_id, token_word(token), label), replies.nothing)


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
    time = whole("a time in milliseconds", value, 0)
    return scripted("delay", names, (job_id, token_word(token), mode, time, label), replies.nothing)
