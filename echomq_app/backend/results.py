"""From what is known of a job to a ``TaskResult``."""

from __future__ import annotations

from typing import Any

from echomq_app.backend.registry import UnknownTask, find_task
from echomq_app.backend.reports import ErrorReport, read_failure, read_outcome
from echomq_app.compat import TaskError, TaskResult, TaskResultStatus
from echomq_app.protocol import payload
from echomq_app.protocol.errors import InvalidPayload
from echomq_app.protocol.ids import minted_ms
from echomq_app.protocol.states import State
from echomq_app.service.records import JobDetails, moment

_STATUS = {
    State.ACTIVE: TaskResultStatus.RUNNING,
    State.DEAD: TaskResultStatus.FAILED,
}


def from_details(job: JobDetails, backend: str) -> TaskResult[Any] | None:
    """The job's result; ``None`` when nothing is kept of it or its task is not one of ours."""
    try:
        return _living(job, backend) if job.fields else _ended(job, backend)
    except (InvalidPayload, UnknownTask):
        return None


def _living(job: JobDetails, backend: str) -> TaskResult[Any]:
    fields = job.fields or {}
    read = payload.decode(fields.get("payload", b""))
    reports = [one for raw in reversed(job.errors) if (one := read_failure(raw)) is not None]
    status = _STATUS.get(job.state, TaskResultStatus.READY)
    workers = [one.worker for one in reports]
    if status is TaskResultStatus.RUNNING:
        workers.append(fields.get("worker", b"").decode("utf-8", "replace").partition(" ")[2])
    claimed = fields.get("claimed_at", b"")
    claimed_at = moment(int(claimed)) if claimed.isdigit() else None
    finished = reports[-1].at if reports and status is TaskResultStatus.FAILED else None
    return TaskResult(
        task=find_task(read.task).using(queue_name=job.queue),
        id=job.job_id,
        status=status,
        enqueued_at=moment(minted_ms(job.job_id)),
        started_at=claimed_at,
        last_attempted_at=claimed_at,
        finished_at=moment(finished),
        args=list(read.args),
        kwargs=dict(read.kwargs),
        backend=backend,
        errors=[_error(one) for one in reports],
        worker_ids=workers,
    )


def _error(report: ErrorReport) -> TaskError:
    return TaskError(exception_class_path=report.exception, traceback=report.traceback)


def _ended(job: JobDetails, backend: str) -> TaskResult[Any] | None:
    if job.receipt is None or job.receipt.outcome is None:
        return None
    outcome = read_outcome(job.receipt.outcome)
    if outcome is None:
        return None
    done = outcome.status == "successful"
    result: TaskResult[Any] = TaskResult(
        task=find_task(outcome.task).using(queue_name=job.queue),
        id=job.job_id,
        status=TaskResultStatus.SUCCESSFUL if done else TaskResultStatus.FAILED,
        enqueued_at=moment(minted_ms(job.job_id)),
        started_at=moment(outcome.claimed_at),
        last_attempted_at=moment(outcome.claimed_at),
        finished_at=moment(outcome.finished_at),
        args=list(outcome.args),
        kwargs=dict(outcome.kwargs),
        backend=backend,
        errors=[],
        worker_ids=[outcome.worker] * outcome.attempt,
    )
    object.__setattr__(result, "_return_value", outcome.value)
    return result
