"""What a running job is to Django: its task as placed on the queue, its ``TaskResult``, its signals."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from django.core.signals import setting_changed

from echomq_app.backend import EchoMQBackend
from echomq_app.backend.hearing import listened
from echomq_app.backend.instants import instant
from echomq_app.backend.registry import find_task, placed
from echomq_app.backend.results import built, changed, one_each
from echomq_app.compat import (
    BaseTaskBackend,
    Task,
    TaskError,
    TaskResult,
    TaskResultStatus,
    task_backends,
    task_finished,
    task_started,
)
from echomq_app.protocol.ids import minted_ms
from echomq_app.protocol.payload import TaskPayload
from echomq_app.service.records import Lease


class Placement(NamedTuple):
    """A task on a queue, and the backend that its signals name."""

    task: Task[..., Any]
    backend: type[BaseTaskBackend]
    alias: str


@cache
def placement(path: str, queue: str) -> Placement:
    """The task at ``path`` as a job on ``queue`` runs it; raises ``UnknownTask`` and what a module raises."""
    task = find_task(path)
    backend = _backend(task, queue)
    alias = backend.alias
    return Placement(placed(task, queue_name=queue, backend=alias), type(backend), alias)


def _backend(task: Task[..., Any], queue: str) -> BaseTaskBackend:
    """The backend of ours that the job came through, as far as its task and queue tell."""
    own = task.get_backend()
    ours = (one for one in task_backends.all() if isinstance(one, EchoMQBackend))
    if isinstance(own, EchoMQBackend):
        return own
    return next((one for one in ours if not one.queues or queue in one.queues), own)


def _forget(*, setting: str, **_: Any) -> None:
    if setting == "TASKS":
        placement.cache_clear()


setting_changed.connect(_forget)


def is_heard() -> bool:
    """Whether anybody is told when tasks start and finish."""
    return listened(task_started) or listened(task_finished)


def begun(place: Placement, lease: Lease, read: TaskPayload, started_ms: int) -> TaskResult[Any]:
    """The result of a job as it starts."""
    started = instant(started_ms)
    return built(
        task=place.task,
        id=lease.job_id,
        status=TaskResultStatus.RUNNING,
        enqueued_at=instant(minted_ms(lease.job_id)),
        started_at=started,
        last_attempted_at=started,
        args=list(read.args),
        kwargs=dict(read.kwargs),
        backend=place.alias,
        errors=[],
        worker_ids=one_each(lease.attempt, [lease.label]),
    )


def started(place: Placement, result: TaskResult[Any]) -> None:
    """Tell who listens that a job starts."""
    task_started.send_robust(place.backend, task_result=result)


def succeeded(place: Placement, result: TaskResult[Any], value: Any, at_ms: int) -> None:
    """Tell who listens that a job has ended well."""
    changed(result, _return_value=value)
    _finish(place, result, TaskResultStatus.SUCCESSFUL, at_ms)


def failed(place: Placement, result: TaskResult[Any], error: TaskError, at_ms: int) -> None:
    """Tell who listens that a job has failed for the last time."""
    result.errors.append(error)
    _finish(place, result, TaskResultStatus.FAILED, at_ms)


def _finish(
    place: Placement, result: TaskResult[Any], status: TaskResultStatus, at_ms: int
) -> None:
    changed(result, finished_at=instant(at_ms), status=status)
    task_finished.send_robust(place.backend, task_result=result)
