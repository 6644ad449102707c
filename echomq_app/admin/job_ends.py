"""How attempts of a job ended: its errors, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from echomq_app.admin.instants import read_instant
from echomq_app.admin.job_facts import Fact
from echomq_app.admin.payload_view import Block, parsed, payload_blocks, pretty, task_of
from echomq_app.admin.text import cut, first_line, visible, visible_bytes
from echomq_app.service.records import JobDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """One attempt that failed. ``attempt`` is empty when the report does not tell."""

    title: str
    attempt: str
    at: datetime | None
    worker: str
    traceback: str


def error_reports(job: JobDetails) -> list[ErrorReport]:
    """The newest errors first; the row's last error alone when no report is kept."""
    if job.errors:
        return [_report(raw) for raw in job.errors]
    last = (job.fields or {}).get("last_error", b"")
    return [_plain_report(last)] if last else []


def _report(raw: bytes) -> ErrorReport:
    body = parsed(raw)
    if not isinstance(body, dict):
        return _plain_report(raw)
    error, traceback = _text(body, "error"), _text(body, "traceback")
    return ErrorReport(
        title=first_line(error) or _("An error without a name"),
        attempt=_text(body, "attempt"),
        at=read_instant(body.get("at")),
        worker=_text(body, "worker"),
        traceback=cut(traceback or error)[0],
    )


def _plain_report(raw: bytes) -> ErrorReport:
    text = visible_bytes(raw)
    return ErrorReport(
        title=first_line(text), attempt="", at=None, worker="", traceback=cut(text)[0]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an ended job came to, as far as what it left tells."""

    task: str
    facts: list[Fact]
    blocks: list[Block]


def outcome(job: JobDetails) -> Outcome | None:
    """The kept outcome; ``None`` when there is none."""
    raw = job.receipt.outcome if job.receipt else None
    if raw is None:
        return None
    body = parsed(raw)
    if not isinstance(body, dict):
        return Outcome(task="", facts=[], blocks=payload_blocks(raw))
    return Outcome(task=task_of(body), facts=_facts(body), blocks=_blocks(body, raw))


def _facts(body: Mapping[str, Any]) -> list[Fact]:
    told = [
        Fact(label=_("Status"), text=_text(body, "status")),
        Fact(label=_("Enqueued"), at=read_instant(body.get("enqueued_at"))),
        Fact(label=_("Claimed"), at=read_instant(body.get("claimed_at"))),
        Fact(label=_("Started"), at=read_instant(body.get("started_at"))),
        Fact(label=_("Finished"), at=read_instant(body.get("finished_at"))),
        Fact(label=_("Attempt"), text=_text(body, "attempt")),
        Fact(label=_("Worker"), text=_text(body, "worker")),
    ]
    return [fact for fact in told if fact.at is not None or fact.text]


def _blocks(body: Mapping[str, Any], raw: bytes) -> list[Block]:
    labels = {
        "value": _("Return value"),
        "error": _("Error"),
        "traceback": _("Traceback"),
        "args": _("Arguments"),
        "kwargs": _("Keyword arguments"),
    }
    blocks: list[Block] = []
    for name, label in labels.items():
        held = body.get(name)
        if isinstance(held, str) and name in ("error", "traceback"):
            text, more = cut(visible(held))
            blocks.append(Block(label=label, text=text, more=more))
        elif name in body and (held is not None or name == "value"):
            blocks.append(pretty(label, held, raw))
    return blocks


def _text(body: Mapping[str, Any], name: str) -> str:
    held = body.get(name)
    if isinstance(held, (str, int)) and not isinstance(held, bool):
        return visible(str(held))
    return ""
