"""Facts about jobs and queues: frozen, keyword-only, without methods that talk to a server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from echomq_app.protocol.ids import JobId, minted_ms
from echomq_app.protocol.replies import Claimed, Counts, Receipt
from echomq_app.protocol.states import JobSet, State


def moment(ms: int | float | None) -> datetime | None:
    """An instant in UTC from milliseconds since 1970."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


class Lease(NamedTuple):
    """A claim that this process holds: the job, its token and the label of the claim."""

    queue: str
    job_id: JobId
    payload: bytes
    token: int
    label: str
    excused: int = 0
    lapses: int = 0
    lane: str = ""
    """The lane that the job was claimed from; empty for a flat job."""

    @property
    def attempt(self) -> int:
        """Which attempt this is, counting from 1; claims that were excused do not count."""
        return self.token - self.excused


def lease(queue: str, claimed: Claimed, label: str) -> Lease:
    """The lease that a claim handed out."""
    job_id, payload, token, excused, lapses, lane = claimed
    return Lease(queue, job_id, payload or b"", token, label, excused, lapses, lane)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFacts:
    """A queue's numbers at one instant of the server's clock."""

    name: str
    counts: Counts

    @property
    def paused(self) -> bool:
        return self.counts.paused

    @property
    def oldest_at(self) -> datetime | None:
        """When the oldest flat job that waits was minted."""
        return moment(minted_ms(self.counts.oldest)) if self.counts.oldest else None

    @property
    def oldest_age_s(self) -> float | None:
        """Seconds for which the oldest flat job has waited; never below zero."""
        if self.counts.oldest is None:
            return None
        return max(0.0, (self.counts.now_ms - minted_ms(self.counts.oldest)) / 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSummary:
    """A line of a page. ``score_ms``: lease deadline or run-at in the two sets that a clock scores."""

    job_id: JobId
    state: str
    minted_at: datetime | None
    """``None`` for a member that is no job id: another program has put it in."""
    score_ms: int | None
    task: str | None
    """The task's dotted path, ``None`` when the payload's head does not tell."""
    attempts: int | None
    excused: int
    lapses: int
    last_error: str
    group: str
    worker: str
    progress: str
    payload_bytes: int
    ghost: bool
    """A member without a row: something deleted the row alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Part of a set. ``next_cursor`` goes on, ``None`` at the end; ``by_clock``: not in mint order."""

    jobs: tuple[JobSummary, ...]
    next_cursor: str | None
    by_clock: bool
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetails:
    """Everything that is known of one job. ``fields`` is the row, ``None`` when there is none."""

    queue: str
    job_id: JobId
    state: State
    fields: dict[str, bytes] | None
    deadline_ms: int | None
    run_at_ms: int | None
    logs: tuple[str, ...]
    errors: tuple[bytes, ...]
    """Newest first, as JSON that the worker wrote."""
    receipt: Receipt | None
    kept_until_ms: int | None
    """When what is kept of an ended job is forgotten."""
    paused: bool
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """What a page shall show. ``since_ms`` and ``until_ms`` bound the mint time: ``[since, until)``."""

    which: JobSet
    newest_first: bool = False
    cursor: str | None = None
    limit: int = 50
    since_ms: int | None = None
    until_ms: int | None = None
    by_clock: bool = False
    """In active and schedule: their own order, by deadline or run-at, instead of mint order."""
