"""The read side: pages by key range, and all that is known of one job (decision 18)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import Any, Final

from echomq_app.protocol import calls, replies
from echomq_app.protocol.calls import Word
from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.ids import JobId, is_branded, lowest_at, minted_ms, window
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import JobSet, State
from echomq_app.service.plans import Plan, one
from echomq_app.service.records import JobDetails, JobSummary, Page, PageRequest, moment

SORTABLE: Final = 100_000
"""How many members of active or schedule are put in mint order before a page gives up on it."""
LARGEST_PAGE: Final = 1000
ROW_CUT: Final = 2048
LOG_LINES: Final = 1000
LONGEST_CURSOR: Final = 1024
_EQUAL_SCORES: Final = 1000
_TASK: Final = re.compile(rb'"task"\s*:\s*"((?:[^"\\]|\\.)*)"')
_END: Final = JobId("")
Member = tuple[JobId, int | None]


def browse(keys: QueueKeys, limit: int) -> Plan[list[JobId]]:
    """The newest ``limit`` waiting ids, newest first (protocol 4.13)."""
    if limit < 1:
        raise InvalidInput(f"browse at least one job; got {limit}")
    words = ("ZRANGE", keys.pending, "+", "-", "BYLEX", "REV", "LIMIT", 0, limit)
    return (yield from one(calls.command(keys.pending, *words, read=replies.job_ids)))


def logs(keys: QueueKeys, job_id: str) -> Plan[list[str] | None]:
    """The newest log lines, oldest first; ``None`` when the job is gone."""
    row, lines = keys.row(job_id), keys.logs(job_id)
    answers = yield (
        calls.command(row, "EXISTS", row, read=replies.held),
        calls.command(lines, "LRANGE", lines, -LOG_LINES, -1, read=_texts),
    )
    found: list[str] = answers[1].unwrap()
    return found if answers[0].unwrap() else None


def _texts(raw: Any) -> list[str]:
    return [replies.text(line) for line in raw]


def page(keys: QueueKeys, request: PageRequest) -> Plan[Page]:
    """One page: its ids, then their rows, in two round trips (three where a clock scores the set)."""
    if not 0 < request.limit <= LARGEST_PAGE:
        raise InvalidInput(f"a page has 1 to {LARGEST_PAGE} jobs; got {request.limit}")
    by_clock = request.which.scored_by_clock and request.by_clock
    if not request.which.scored_by_clock:
        members = yield from _by_lex(keys, request)
    else:
        key = _key(keys, request.which)
        too_many = (
            yield from one(calls.command(key, "ZCARD", key, read=replies.number))
        ) > SORTABLE
        by_clock = by_clock or too_many
        members = yield from (_by_score(key, request) if by_clock else _sorted(key, request))
    more = len(members) > request.limit
    members = members[: request.limit]
    ids = [job_id for job_id, _ in members]
    answers = yield (
        calls.read_rows(keys, ids, ROW_CUT),
        calls.command(keys.base, "TIME", read=_time_ms),
    )
    jobs = tuple(
        _summary(job_id, score, row)
        for (job_id, score), row in zip(members, answers[0].unwrap(), strict=True)
    )
    cursor = _cursor(members[-1], by_clock) if more else None
    return Page(jobs=jobs, next_cursor=cursor, by_clock=by_clock, now_ms=answers[1].unwrap())


def _key(keys: QueueKeys, which: JobSet) -> str:
    return f"{keys.base}{which.value}"


def _time_ms(raw: Any) -> int:
    return int(raw[0]) * 1000 + int(raw[1]) // 1000


def _cursor(member: Member, by_clock: bool) -> str:
    job_id, score = member
    return f"{score}.{job_id}" if by_clock else job_id


def _valid_cursor(cursor: str) -> str:
    """Any member may end a page: another program may have put in what is no job id."""
    if not 0 < len(cursor) <= LONGEST_CURSOR:
        raise InvalidInput(f"a cursor is a member of the set; got {cursor!r:.60}")
    return cursor


def _by_lex(keys: QueueKeys, request: PageRequest) -> Plan[list[Member]]:
    """A key range of a set whose score is zero: the same cost at any size."""
    low, high = window(request.since_ms, request.until_ms)
    if request.cursor is not None and request.newest_first:
        high = "(" + _valid_cursor(request.cursor)
    elif request.cursor is not None:
        low = "(" + _valid_cursor(request.cursor)
    key = _key(keys, request.which)
    words: tuple[Word, ...] = ("ZRANGE", key, low, high, "BYLEX")
    if request.newest_first:
        words = ("ZRANGE", key, high, low, "BYLEX", "REV")
    call = calls.command(key, *words, "LIMIT", 0, request.limit + 1, read=replies.job_ids)
    return [(job_id, None) for job_id in (yield from one(call))]


def _sorted(key: str, request: PageRequest) -> Plan[list[Member]]:
    """Mint order of a set that a clock scores: its members are sorted here, up to ``SORTABLE``."""
    call = calls.command(key, "ZRANGE", key, 0, SORTABLE, "WITHSCORES", read=_scored)
    members = sorted((yield from one(call)))
    ids = [job_id for job_id, _ in members]
    first, last = 0, len(ids)
    if request.since_ms is not None:
        first = bisect_left(ids, lowest_at(request.since_ms))
    if request.until_ms is not None:
        last = bisect_left(ids, lowest_at(request.until_ms))
    if request.cursor is not None and request.newest_first:
        last = min(last, bisect_left(ids, _valid_cursor(request.cursor)))
    elif request.cursor is not None:
        first = max(first, bisect_right(ids, _valid_cursor(request.cursor)))
    if request.newest_first:
        return members[max(first, last - request.limit - 1) : last][::-1]
    return members[first : min(last, first + request.limit + 1)]


def _scored(raw: Any) -> list[Member]:
    """Members with whole scores, from RESP2's flat list or RESP3's pairs."""
    if raw and isinstance(raw[0], list):
        return [(JobId(replies.text(member)), int(float(score))) for member, score in raw]
    return [
        (JobId(replies.text(member)), int(float(score)))
        for member, score in zip(raw[::2], raw[1::2], strict=True)
    ]


def _by_score(key: str, request: PageRequest) -> Plan[list[Member]]:
    """The set's own order, by deadline or run-at; mint bounds are applied to what is read."""
    score, after = _clock_cursor(request.cursor)
    bounds: tuple[Word, Word] = ("-inf" if score is None else score, "+inf")
    words: tuple[Word, ...] = ("ZRANGE", key, *bounds, "BYSCORE")
    if request.newest_first:
        bounds = ("+inf" if score is None else score, "-inf")
        words = ("ZRANGE", key, *bounds, "BYSCORE", "REV")
    found: list[Member] = []
    offset = 0
    step = request.limit + 1 if score is None else request.limit + 1 + _EQUAL_SCORES
    while len(found) <= request.limit:
        call = calls.command(key, *words, "LIMIT", offset, step, "WITHSCORES", read=_scored)
        part = yield from one(call)
        found += [
            m for m in part if _follows(m, score, after, request) and _minted_within(m, request)
        ]
        offset += step
        if len(part) < step:
            break
    return found[: request.limit + 1]


def _clock_cursor(cursor: str | None) -> tuple[int | None, JobId]:
    if cursor is None:
        return None, _END
    score, _, job_id = cursor.partition(".")
    if not score.isdigit():
        raise InvalidInput(f"a cursor is a time and a job id; got {cursor!r:.60}")
    return int(score), JobId(_valid_cursor(job_id))


def _follows(member: Member, score: int | None, after: JobId, request: PageRequest) -> bool:
    if score is None or member[1] != score:
        return True
    return member[0] < after if request.newest_first else member[0] > after


def _minted_within(member: Member, request: PageRequest) -> bool:
    if request.since_ms is None and request.until_ms is None:
        return True
    if not is_branded(member[0]):
        return False
    ms = minted_ms(member[0])
    after_start = request.since_ms is None or ms >= request.since_ms
    return after_start and (request.until_ms is None or ms < request.until_ms)


def _summary(job_id: JobId, score: int | None, row: replies.Row) -> JobSummary:
    receipt = replies.receipt(row.result) if row.result and row.attempts is None else None
    return JobSummary(
        job_id=job_id,
        state=row.state,
        minted_at=moment(minted_ms(job_id)) if is_branded(job_id) else None,
        score_ms=score,
        task=task_in(row.payload or (receipt.outcome if receipt and receipt.outcome else b"")),
        attempts=receipt.token if receipt else row.attempts,
        excused=row.excused,
        lapses=row.lapses,
        last_error=row.last_error,
        group=row.group,
        worker=receipt.label if receipt else row.worker,
        progress=row.progress,
        payload_bytes=row.payload_bytes,
        ghost=row.attempts is None and not row.state and receipt is None,
    )


def task_in(head: bytes) -> str | None:
    """The task's dotted path, ``None`` when the head of a payload does not tell it."""
    found = _TASK.search(head)
    return found[1].decode("utf-8", "replace") if found else None


def job(keys: QueueKeys, job_id: str) -> Plan[JobDetails]:
    """Everything that is known of one job, in one round trip."""
    row, errors, result = keys.row(job_id), keys.errors(job_id), keys.result(job_id)
    answers = yield (
        calls.state(keys, job_id),
        calls.command(row, "HGETALL", row, read=replies.fields),
        calls.command(keys.active, "ZSCORE", keys.active, job_id, read=_score),
        calls.command(keys.schedule, "ZSCORE", keys.schedule, job_id, read=_score),
        calls.command(keys.logs(job_id), "LRANGE", keys.logs(job_id), -LOG_LINES, -1, read=_texts),
        calls.command(errors, "LRANGE", errors, 0, -1, read=tuple),
        calls.command(result, "GET", result, read=replies.receipt),
        calls.command(keys.expire, "ZSCORE", keys.expire, job_id, read=_score),
        calls.is_paused(keys),
        calls.command(keys.base, "TIME", read=_time_ms),
    )
    state: State = answers[0].unwrap()
    return JobDetails(
        queue=keys.name,
        job_id=JobId(job_id),
        state=state,
        fields=answers[1].unwrap() or None,
        deadline_ms=answers[2].unwrap(),
        run_at_ms=answers[3].unwrap(),
        logs=tuple(answers[4].unwrap()),
        errors=answers[5].unwrap(),
        receipt=answers[6].unwrap(),
        kept_until_ms=answers[7].unwrap(),
        paused=answers[8].error is not None or bool(answers[8].value),
        now_ms=answers[9].unwrap(),
    )


def _score(raw: Any) -> int | None:
    return None if raw is None else int(float(raw))
