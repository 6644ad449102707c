"""The rows of a set's page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from echomq_app.admin.instants import as_instant
from echomq_app.admin.text import first_line, visible
from echomq_app.protocol.states import JobSet
from echomq_app.service.records import JobSummary, Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What a set's table shows besides id, state, task, mint time and attempts."""

    when: Any = ""
    worker: bool = False
    error: bool = False
    payload: bool = True


COLUMNS: Final = {
    JobSet.PENDING: Columns(error=True),
    JobSet.ACTIVE: Columns(when=_("Lease ends"), worker=True),
    JobSet.SCHEDULE: Columns(when=_("Runs at"), error=True),
    JobSet.DEAD: Columns(error=True),
    JobSet.DONE: Columns(worker=True, payload=False),
}
TITLES: Final = {
    JobSet.PENDING: _("Pending jobs"),
    JobSet.ACTIVE: _("Active jobs"),
    JobSet.SCHEDULE: _("Scheduled jobs"),
    JobSet.DEAD: _("Dead jobs"),
    JobSet.DONE: _("Done jobs"),
}
EMPTY: Final = {
    JobSet.PENDING: _("No job waits."),
    JobSet.ACTIVE: _("No job is running."),
    JobSet.SCHEDULE: _("No job is scheduled."),
    JobSet.DEAD: _("No job is dead."),
    JobSet.DONE: _("No outcome is kept."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job's line. ``attempts`` is ``None`` where the row cannot be read.

    ``minted_at`` is ``None`` for what is no job id and so has no page. ``in_s``: seconds until
    ``when``, below zero when it is over.
    """

    job_id: str
    state: str
    task: str
    minted_at: datetime | None
    attempts: int | None
    excused: int
    lapses: int
    when: datetime | None
    in_s: float | None
    worker: str
    error: str
    payload_bytes: int
    ghost: bool


def job_rows(page: Page) -> list[JobRow]:
    """A page's jobs as lines."""
    return [_row(job, page.now_ms) for job in page.jobs]


def _row(job: JobSummary, now_ms: int) -> JobRow:
    return JobRow(
        job_id=job.job_id,
        state=visible(job.state),
        task=visible(job.task or ""),
        minted_at=job.minted_at,
        attempts=None if job.attempts is None else max(job.attempts - job.excused, 0),
        excused=job.excused,
        lapses=job.lapses,
        when=as_instant(job.score_ms),
        in_s=None if job.score_ms is None else (job.score_ms - now_ms) / 1000,
        worker=visible(worker_label(job.worker)),
        error=first_line(job.last_error),
        payload_bytes=job.payload_bytes,
        ghost=job.ghost,
    )


def worker_label(worker: str) -> str:
    """The label of a claim, from a row's ``<token> <label>`` or a receipt's bare label."""
    token, space, label = worker.partition(" ")
    return label if space and token.isdigit() else worker
