"""A job: all that is known of it, and what happens next."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from echomq_app.admin.job_ends import error_reports, outcome
from echomq_app.admin.job_facts import job_facts, other_fields
from echomq_app.admin.outlook import outlook
from echomq_app.admin.pages.frame import framed
from echomq_app.admin.payload_view import parsed, payload_blocks, task_of
from echomq_app.admin.text import visible
from echomq_app.admin.trouble import FAILURES, trouble
from echomq_app.connections import queue_named
from echomq_app.protocol.errors import InvalidJobId
from echomq_app.protocol.ids import parse
from echomq_app.protocol.states import JobSet, State
from echomq_app.service.records import JobDetails

REMOVABLE: Final = frozenset({State.PENDING, State.SCHEDULED, State.DEAD, State.UNKNOWN})
SET_OF: Final = {State.SCHEDULED: JobSet.SCHEDULE, State.DEAD: JobSet.DEAD}
NAMES: Final = {
    State.PENDING: _("pending"),
    State.ACTIVE: _("active"),
    State.SCHEDULED: _("scheduled"),
    State.DEAD: _("dead"),
    State.AWAITING_CHILDREN: _("waits for its children"),
    State.DONE: _("done"),
    State.UNKNOWN: _("in no set"),
    State.ABSENT: _("not known"),
}


def find_job(request: HttpRequest, site: AdminSite, queue: str) -> HttpResponse:
    """Go to the job that an operator typed the id of."""
    job_id = request.GET.get("id", "").strip()
    try:
        parse(job_id)
    except InvalidJobId as error:
        return _no_job(request, site, queue, job_id, str(error))
    return redirect(f"{site.name}:echomq_app_queue_job", queue, job_id)


def show_job(request: HttpRequest, site: AdminSite, queue: str, job_id: str) -> HttpResponse:
    """Everything about one job; 404 when its id is malformed or nothing is known of it."""
    try:
        job = queue_named(queue).job(job_id)
    except InvalidJobId as error:
        return _no_job(request, site, queue, job_id, str(error))
    except FAILURES as failure:
        told: dict[str, Any] = {
            "queue": queue,
            "job_id": visible(job_id),
            "trouble": trouble(failure),
        }
        return framed(request, site, "job.html", title=job_id, **told)
    content = _content(job)
    back = reverse(
        f"{site.name}:echomq_app_queue_set", args=(queue, SET_OF.get(job.state, JobSet.PENDING))
    )
    status = 404 if job.state is State.ABSENT else 200
    return framed(
        request, site, "job.html", status, title=job_id, queue=queue, back=back, **content
    )


def _content(job: JobDetails) -> dict[str, Any]:
    payload = (job.fields or {}).get("payload")
    ended = outcome(job)
    body = parsed(payload) if payload else None
    task = task_of(body if isinstance(body, dict) else None)
    return {
        "job_id": job.job_id,
        "state": job.state,
        "state_name": NAMES[job.state],
        "paused": job.paused,
        "task": task or (ended.task if ended else ""),
        "outlook": outlook(job),
        "facts": job_facts(job),
        "payload": payload_blocks(payload) if payload is not None else [],
        "payload_bytes": len(payload or b""),
        "outcome": ended,
        "errors": error_reports(job),
        "logs": [visible(line) for line in job.logs],
        "other_fields": other_fields(job),
        "dead": job.state is State.DEAD,
        "removable": job.state in REMOVABLE,
        "active": job.state is State.ACTIVE,
    }


def _no_job(
    request: HttpRequest, site: AdminSite, queue: str, job_id: str, why: str
) -> HttpResponse:
    told = {"queue": queue, "job_id": visible(job_id), "why": visible(why)}
    return framed(request, site, "no_job.html", 404, title=gettext("No such job"), **told)
