"""The acts: a view each, by POST, that changes one thing, says so and leaves a trail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.contrib.admin.models import DELETION
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from echomq_app.admin.trail import record
from echomq_app.admin.trouble import FAILURES, trouble
from echomq_app.conf import echomq_settings
from echomq_app.connections import queue_named
from echomq_app.protocol.errors import ConnectionLost, ServerUnavailable
from echomq_app.protocol.states import JobSet, Requeued


def pause_queue(request: HttpRequest, queue: str) -> HttpResponse:
    """Stop every claim on the queue."""
    with _told(request, queue, "Pause"):
        if queue_named(queue).pause():
            record(request, queue, "Paused.")
            said = _("Queue %(queue)s is paused: running jobs go on, no worker takes another.")
            messages.success(request, said % {"queue": queue})
        else:
            messages.info(request, _("Queue %(queue)s was paused already.") % {"queue": queue})
    return _back(request, queue)


def resume_queue(request: HttpRequest, queue: str) -> HttpResponse:
    """Let claims go on."""
    with _told(request, queue, "Resume"):
        if queue_named(queue).resume():
            record(request, queue, "Resumed.")
            messages.success(request, _("Queue %(queue)s is served again.") % {"queue": queue})
        else:
            messages.info(request, _("Queue %(queue)s was not paused.") % {"queue": queue})
    return _back(request, queue)


def requeue_job(request: HttpRequest, queue: str, job_id: str) -> HttpResponse:
    """Give a dead job all its attempts again."""
    with _told(request, queue, "Requeue", job_id):
        if queue_named(queue).requeue(job_id) is Requeued.REQUEUED:
            record(request, queue, "Requeued 1 job.", job_id=job_id)
            messages.success(request, _("Job %(id)s waits again.") % {"id": job_id})
        else:
            messages.warning(request, _("Job %(id)s is gone.") % {"id": job_id})
    return _back(request, queue)


def requeue_selected(request: HttpRequest, queue: str) -> HttpResponse:
    """Give the dead jobs that were ticked all their attempts again."""
    job_ids = list(dict.fromkeys(request.POST.getlist("job")))
    if not job_ids:
        messages.warning(request, _("No job was selected; nothing was done."))
        return _back(request, queue)
    with _told(request, queue, f"Requeue of {', '.join(job_ids)}"):
        verdicts = queue_named(queue).requeue_many(job_ids)
        waiting = [
            job_id
            for job_id, verdict in zip(job_ids, verdicts, strict=True)
            if verdict is Requeued.REQUEUED
        ]
        if waiting:
            record(request, queue, f"Requeued {_jobs(len(waiting))}: {', '.join(waiting)}.")
        _say_requeued(request, Counter(verdicts))
    return _back(request, queue)


def remove_job(request: HttpRequest, queue: str, job_id: str) -> HttpResponse:
    """End the life of a job that nobody holds, and leave a receipt that answers resends."""
    with _told(request, queue, "Removal", job_id):
        label = f"removed by user {request.user.pk}"
        kept = echomq_settings().receipt_ttl
        if queue_named(queue).remove(job_id, label=label, receipt_for=kept):
            record(request, queue, "Removed 1 job.", job_id=job_id, flag=DELETION)
            messages.success(request, _("Job %(id)s was removed.") % {"id": job_id})
        else:
            messages.warning(request, _("Job %(id)s is gone.") % {"id": job_id})
    return _back(request, queue)


@contextmanager
def _told(request: HttpRequest, queue: str, act: str, job_id: str = "") -> Iterator[None]:
    """Say a failure to the operator; leave a trail where the act may have happened all the same."""
    try:
        yield
    except FAILURES as failure:
        met = trouble(failure)
        messages.error(request, f"{met.what} {met.advice} ({met.seen})")
        if isinstance(failure, ConnectionLost) and not isinstance(failure, ServerUnavailable):
            record(request, queue, f"{act}: no answer came; it may have happened.", job_id=job_id)


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"


def _say_requeued(request: HttpRequest, verdicts: Counter[Requeued]) -> None:
    if count := verdicts[Requeued.REQUEUED]:
        said = ngettext("%(count)s job waits again.", "%(count)s jobs wait again.", count)
        messages.success(request, said % {"count": count})
    if count := verdicts[Requeued.NOT_DEAD]:
        said = ngettext(
            "%(count)s job was not dead and was left as it is.",
            "%(count)s jobs were not dead and were left as they are.",
            count,
        )
        messages.warning(request, said % {"count": count})
    if count := verdicts[Requeued.GONE]:
        said = ngettext("%(count)s job is gone.", "%(count)s jobs are gone.", count)
        messages.warning(request, said % {"count": count})


def _back(request: HttpRequest, queue: str) -> HttpResponse:
    """To the page the act came from, or to the queue when that is not a page of this site."""
    back = request.POST.get("back", "")
    if url_has_allowed_host_and_scheme(
        back, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return HttpResponseRedirect(back)
    return redirect("admin:echomq_app_queue_set", queue, JobSet.PENDING)
