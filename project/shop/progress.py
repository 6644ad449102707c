"""How far an order's jobs are, in words for its page."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from echomq_app.compat import TaskResultDoesNotExist, TaskResultStatus, default_task_backend
from echomq_app.protocol.errors import ConnectionLost
from project.shop.models import Order, OrderJob

UNKNOWN = "unknown"
UNREACHABLE = "unreachable"
AGAIN = "again"
WORDS: dict[str, Promise] = {
    "waiting": _("waiting"),
    AGAIN: _("failed, will be tried again"),
    "running": _("running"),
    "done": _("done"),
    "dead": _("failed for good"),
    UNKNOWN: _("no longer known"),
    UNREACHABLE: _("unknown: the queue cannot be reached"),
}
FINAL = {"done", "dead", UNKNOWN}
STATES = {
    TaskResultStatus.READY: "waiting",
    TaskResultStatus.RUNNING: "running",
    TaskResultStatus.SUCCESSFUL: "done",
    TaskResultStatus.FAILED: "dead",
}


@dataclass(frozen=True, kw_only=True)
class JobLine:
    """One job of an order as its page shows it; ``attempts`` is None when nobody knows."""

    job: OrderJob
    state: str
    attempts: int | None

    @property
    def words(self) -> Promise:
        """The state in words."""
        return WORDS[self.state]

    @property
    def operators_page(self) -> str:
        """The address of all that is known of the job, for operators."""
        name = "admin:echomq_app_queue_job"
        return reverse(name, kwargs={"queue": self.job.queue, "job_id": self.job.job_id})


def job_line(job: OrderJob) -> JobLine:
    """Ask the queue about one job, by the id that the order stored; raises ``ConnectionLost``."""
    try:
        result = default_task_backend.get_result(job.job_id)
    except TaskResultDoesNotExist:
        return JobLine(job=job, state=UNKNOWN, attempts=None)
    state = STATES[result.status]
    if state == "waiting" and result.attempts:
        state = AGAIN
    return JobLine(job=job, state=state, attempts=result.attempts)


def job_lines(order: Order) -> list[JobLine]:
    """The jobs as they stand; where the queue does not answer once, it is not asked again."""
    jobs = list(order.jobs.all())
    lines: list[JobLine] = []
    with suppress(ConnectionLost):
        for job in jobs:
            lines.append(job_line(job))
    unreached = jobs[len(lines) :]
    return lines + [JobLine(job=job, state=UNREACHABLE, attempts=None) for job in unreached]


def settled(lines: list[JobLine]) -> bool:
    """Say whether no line can change by itself any more."""
    return all(line.state in FINAL for line in lines)
