"""What happens next to a job, in a sentence."""

from __future__ import annotations

from django.utils.translation import gettext as _

from echomq_app.admin.instants import as_instant
from echomq_app.protocol.states import State
from echomq_app.service.records import JobDetails
from echomq_app.templatetags.echomq import clock, span


def outlook(job: JobDetails) -> str:
    """The next thing that happens to the job if nobody interferes."""
    match job.state:
        case State.PENDING if job.paused:
            return _("The queue is paused: no worker takes this job until it is resumed.")
        case State.PENDING:
            return _(
                "The next free worker takes it when the jobs before it are taken. If none runs, it "
                "waits."
            )
        case State.ACTIVE:
            return _active(job)
        case State.SCHEDULED:
            return _scheduled(job)
        case State.DEAD:
            return _("It stays here until somebody requeues or removes it.")
        case State.AWAITING_CHILDREN:
            return _("It waits until all its children have ended.")
        case State.DONE:
            return _done(job)
        case State.UNKNOWN:
            return _("Its row exists but no set holds it: no worker will ever take it.")
        case State.ABSENT:
            return _(
                "Nothing is known of it: it has ended without a trace, was removed, or never was."
            )


def _active(job: JobDetails) -> str:
    left = _seconds_to(job.deadline_ms, job)
    if left < 0:
        return _(
            "Its lease ended %(ago)s ago: the next worker or reaper puts it back with the waiting "
            "jobs."
        ) % {"ago": span(-left)}
    return _(
        "A worker runs it. Its lease ends in %(left)s; unless the worker renews it, the job then "
        "waits again."
    ) % {"left": span(left)}


def _scheduled(job: JobDetails) -> str:
    left = _seconds_to(job.run_at_ms, job)
    if left < 0:
        said = _(
            "It has been due for %(ago)s: the next worker or reaper moves it to the waiting jobs."
        )
        said %= {"ago": span(-left)}
    else:
        said = _("It waits until %(at)s, in %(left)s, and then joins the waiting jobs.")
        said %= {"at": clock(as_instant(job.run_at_ms)), "left": span(left)}
    return f"{said} {_('The queue is paused.')}" if job.paused else said


def _done(job: JobDetails) -> str:
    if job.receipt is None:
        return _("It has ended. What is kept of it cannot be read.")
    if job.receipt.outcome is None:
        until = clock(as_instant(job.receipt.until_ms))
        return _(
            "It has ended, done or removed. That is remembered until %(until)s; its outcome was "
            "not kept."
        ) % {"until": until}
    until = clock(as_instant(job.kept_until_ms or job.receipt.until_ms))
    return _("It has ended. Its outcome is kept until %(until)s.") % {"until": until}


def _seconds_to(ms: int | None, job: JobDetails) -> float:
    return 0.0 if ms is None else (ms - job.now_ms) / 1000
