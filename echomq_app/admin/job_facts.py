"""Everything that is known of a job, in the order of its life."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import gettext as _

from echomq_app.admin.instants import as_instant
from echomq_app.admin.job_rows import worker_label
from echomq_app.admin.payload_view import Block, as_stored, parsed
from echomq_app.admin.text import visible, visible_bytes
from echomq_app.protocol.ids import minted_ms
from echomq_app.service.records import JobDetails

TOLD: Final = frozenset(
    {
        "state",
        "attempts",
        "payload",
        "worker",
        "claimed_at",
        "excused",
        "lapses",
        "settled",
        "progress",
        "group",
        "last_error",
    }
)
"""Fields of the row that the page tells in its own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A line of the job's life: an instant, a text, or both."""

    label: str
    at: datetime | None = None
    text: str = ""


def job_facts(job: JobDetails) -> list[Fact]:
    """The facts that are there; what is not known has no line."""
    row = _Row(job)
    told = [
        Fact(label=_("Minted"), at=as_instant(minted_ms(job.job_id))),
        Fact(label=_("Runs at"), at=as_instant(job.run_at_ms)),
        Fact(label=_("Claimed at"), at=row.instant("claimed_at")),
        Fact(label=_("Claimed by"), text=worker_label(row.text("worker"))),
        Fact(label=_("Token"), text=row.text("attempts")),
        Fact(label=_("Lease ends"), at=as_instant(job.deadline_ms)),
        Fact(label=_("Attempts"), text=_attempts(row, job)),
        Fact(label=_("Leases that ran out"), text=row.text("lapses")),
        Fact(label=_("Last settled"), text=_settled(row.text("settled"))),
        Fact(label=_("Progress"), text=row.text("progress")),
        Fact(label=_("Lane"), text=row.text("group")),
        *_receipt_facts(job),
    ]
    return [fact for fact in told if fact.at is not None or fact.text]


def other_fields(job: JobDetails) -> list[Block]:
    """Fields of the row that no line tells: additions of other programs."""
    extra = sorted((job.fields or {}).keys() - TOLD)
    return [as_stored(visible(name), (job.fields or {})[name]) for name in extra]


class _Row:
    """The row's fields as text or number, whatever stands in them."""

    def __init__(self, job: JobDetails) -> None:
        self.fields = job.fields or {}

    def text(self, name: str) -> str:
        return visible_bytes(self.fields.get(name, b""))

    def number(self, name: str) -> int | None:
        raw = self.fields.get(name, b"")
        return int(raw) if raw.isdigit() and len(raw) < 16 else None

    def instant(self, name: str) -> datetime | None:
        return as_instant(self.number(name))


def _attempts(row: _Row, job: JobDetails) -> str:
    token, excused = row.number("attempts"), row.number("excused") or 0
    if token is None:
        return ""
    body = parsed(row.fields.get("payload", b""))
    most = body.get("max_attempts") if isinstance(body, dict) else None
    said = str(max(token - excused, 0))
    if isinstance(most, int):
        said = _("%(made)s of %(most)s") % {"made": said, "most": most}
    return (
        _("%(made)s, and %(excused)s that do not count")
        % {
            "made": said,
            "excused": excused,
        }
        if excused
        else said
    )


def _settled(settled: str) -> str:
    words = settled.split(" ", 2)
    if len(words) < 2:
        return settled
    return _("claim %(token)s, %(verb)s") % {"token": words[0], "verb": words[1]}


def _receipt_facts(job: JobDetails) -> list[Fact]:
    if job.receipt is None:
        return []
    return [
        Fact(label=_("Ended by"), text=visible(job.receipt.label)),
        Fact(label=_("Token at its end"), text=str(job.receipt.token)),
        Fact(label=_("Resends are known until"), at=as_instant(job.receipt.until_ms)),
    ]
