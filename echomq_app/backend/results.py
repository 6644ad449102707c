"""From what is known of a job to a ``TaskResult``."""

from __future__ import annotations

from dataclasses import fields
from itertools import chain
from typing import Any, Final

from echomq_app.backend.instants import instant
from echomq_app.backend.registry import UnknownTask, find_task, placed
from echomq_app.backend.reports import ErrorReport, read_failure, read_outcome
from echomq_app.compat import TaskError, TaskResult, TaskResultStatus, normalize_json
from echomq_app.protocol import payload
from echomq_app.protocol.errors import EchoMQError, InvalidPayload
from echomq_app.protocol.ids import minted_ms
from echomq_app.protocol.states import State
from echomq_app.service.records import JobDetails

_PLAIN: Final = frozenset({type(None), bool, int, float, str})


def plain(given: Any) -> Any:
    """Arguments as JSON will give them back; ``TypeError`` for what it cannot hold."""
    if type(given) is tuple and _PLAIN.issuperset(map(type, given)):
        return list(given)
    if type(given) is dict and _PLAIN.issuperset(map(type, chain(given, given.values()))):
        return given.copy()
    return normalize_json(given)


def built(**facts: Any) -> TaskResult[Any]:
    """A result with these facts, ``None`` for the rest.

    Its own constructor would look through the arguments once more, and ask for every slot by name.
    """
    result: TaskResult[Any] = object.__new__(TaskResult)
    told = facts.get
    for name, put in _SLOTS:
        put(result, told(name))
    return result


def changed(result: TaskResult[Any], **facts: Any) -> TaskResult[Any]:
    """The same result with other facts: it is frozen for those who are handed it."""
    for name, value in facts.items():
        object.__setattr__(result, name, value)
    return result


_SLOTS: Final = [(one.name, getattr(TaskResult, one.name).__set__) for one in fields(TaskResult)]


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
        workers.append(_text(fields, "worker").partition(" ")[2])
    errors = [_error(one) for one in reports]
    if status is TaskResultStatus.FAILED and not errors:
        errors = [_unreported(_text(fields, "last_error"))]
    finished = reports[-1].at if reports and status is TaskResultStatus.FAILED else None
    claimed_at = instant(_number(fields, "claimed_at"))
    attempts = (_number(fields, "attempts") or 0) - (_number(fields, "excused") or 0)
    return TaskResult(
        task=placed(
            find_task(read.task),
            queue_name=job.queue,
            backend=backend,
            run_after=instant(job.run_at_ms),
        ),
        id=job.job_id,
        status=status,
        enqueued_at=instant(minted_ms(job.job_id)),
        started_at=claimed_at,
        last_attempted_at=claimed_at,
        finished_at=instant(finished),
        args=list(read.args),
        kwargs=dict(read.kwargs),
        backend=backend,
        errors=errors,
        worker_ids=one_each(attempts, workers),
    )


def _text(fields: dict[str, bytes], name: str) -> str:
    return fields.get(name, b"").decode("utf-8", "replace")


def _number(fields: dict[str, bytes], name: str) -> int | None:
    raw = fields.get(name, b"")
    return int(raw) if raw.isdigit() else None


def one_each(attempts: int, workers: list[str]) -> list[str]:
    """A worker for each attempt, ``""`` where none left its name: it died, or too long ago."""
    return [""] * (attempts - len(workers)) + workers


def _error(report: ErrorReport) -> TaskError:
    return TaskError(exception_class_path=report.exception, traceback=report.traceback)


def _unreported(why: str) -> TaskError:
    """The end of a job that no exception of its task brought about."""
    kind = EchoMQError
    return TaskError(exception_class_path=f"{kind.__module__}.{kind.__qualname__}", traceback=why)


def _ended(job: JobDetails, backend: str) -> TaskResult[Any] | None:
    if job.receipt is None or job.receipt.outcome is None:
        return None
    outcome = read_outcome(job.receipt.outcome)
    if outcome is None:
        return None
    done = outcome.status == "successful"
    result: TaskResult[Any] = TaskResult(
        task=placed(find_task(outcome.task), queue_name=job.queue, backend=backend),
        id=job.job_id,
        status=TaskResultStatus.SUCCESSFUL if done else TaskResultStatus.FAILED,
        enqueued_at=instant(minted_ms(job.job_id)),
        started_at=instant(outcome.claimed_at),
        last_attempted_at=instant(outcome.claimed_at),
        finished_at=instant(outcome.finished_at),
        args=list(outcome.args),
        kwargs=dict(outcome.kwargs),
        backend=backend,
        errors=[] if done else [_unreported(f"it ended as {outcome.status}")],
        worker_ids=one_each(outcome.attempt, [outcome.worker]),
    )
    object.__setattr__(result, "_return_value", outcome.value)
    return result
