"""What a job tells while it runs, and what a queue tells of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call, Word, scripted, token_word, whole
from echomq_app.protocol.calls.settling import SUBKEY_MS
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Repeat, State

MOST_STALE: Final = 100
STALE_MS: Final = 30 * 24 * 3600 * 1000


def progress(keys: QueueKeys, job_id: str, text: str) -> Call[bool]:
    """Note and publish how far a job has come; ``False`` when it is gone."""
    return scripted("progress", (keys.row(job_id), keys.base), (job_id, text), replies.held)


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
        "" if keep is None else whole("keep", keep, 1),
        "" if keep_ms is None else whole("keep_ms", keep_ms, 1),
    )
    names = (keys.row(job_id), keys.logs(job_id))
    return scripted("add_log", names, args, replies.number_or_gone, Repeat.NEVER)


def note_stale(
    keys: QueueKeys, job_id: str, token: int, label: str, *, reason: str, ran_ms: int, ended_ms: int
) -> Call[replies.OtherClaim]:
    """Note an outcome that was refused, ``ended_ms`` after its run of ``ran_ms``; who has the job."""
    args = (
        *(job_id, token_word(token), label, reason),
        *(whole("ran_ms", ran_ms, 0), whole("ended_ms", ended_ms, 0)),
        *(MOST_STALE, STALE_MS),
    )
    names = (keys.row(job_id), keys.result(job_id), keys.stale, keys.stale_counter)
    return scripted("note_stale", names, args, replies.other_claim, Repeat.NEVER)


def state(keys: QueueKeys, job_id: str) -> Call[State]:
    """Where a job is, judged by the sets."""
    row = keys.row(job_id)
    names = (keys.pending, keys.active, keys.schedule, keys.dead, row, keys.base)
    return scripted("state", names, (job_id,), replies.state)


def counts(keys: QueueKeys) -> Call[replies.Counts]:
    """The queue's numbers, read together."""
    return scripted("counts", (keys.base,), (), replies.counts)


def read_rows(keys: QueueKeys, members: Sequence[str], cut: int) -> Call[list[replies.Row]]:
    """The rows of a page, whatever its members are; payloads and errors cut to ``cut`` bytes."""
    args: list[Word] = [whole("cut", cut, 0), *members]
    return scripted("read_rows", (keys.base,), args, replies.rows)
