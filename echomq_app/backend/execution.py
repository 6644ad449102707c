"""Runs one claimed job as a Django task, and says what came of it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from echomq_app.backend import EchoMQBackend
from echomq_app.backend.context import EchoMQContext
from echomq_app.backend.database import fresh_connections
from echomq_app.backend.instants import instant
from echomq_app.backend.registry import UnknownTask, find_task, placed
from echomq_app.backend.reports import OutcomeReport, failure
from echomq_app.backend.results import one_each
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
from echomq_app.conf import Settings
from echomq_app.protocol import payload
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import InvalidPayload
from echomq_app.protocol.ids import minted_ms
from echomq_app.protocol.payload import TaskPayload
from echomq_app.runtime.cancel import Cancelled
from echomq_app.runtime.held import Held, Loss
from echomq_app.runtime.limits import HardTimeLimitExceeded
from echomq_app.runtime.outcomes import Completed, Delayed, Failed, Outcome
from echomq_app.service.queue import whole_ms
from echomq_app.service.records import Lease

UNKNOWN_TASK_TRIES: Final = 60
UNKNOWN_TASK_PAUSE: Final = timedelta(seconds=60)


class NotJSON(TypeError):
    """A task returned what JSON cannot hold."""


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """Called by an executor's thread with a held job; answers its outcome, whatever the task does."""

    settings: Settings
    clock: Callable[[], float] = time.time

    def __call__(self, held: Held) -> Outcome:
        try:
            read = payload.decode(held.lease.payload)
        except InvalidPayload as error:
            return _bury(str(error))
        if read.expires_at is not None and self._now_ms() >= read.expires_at:
            return self._expired(held, read)
        try:
            task = find_task(read.task)
        except UnknownTask as error:
            return _unknown(held, error)
        except BaseException as error:  # noqa: BLE001  # a task and its module may raise anything
            return self._failed(held, read, error)
        with fresh_connections():
            return self._run(held, read, task)

    def _now_ms(self) -> int:
        return int(self.clock() * 1000)

    def _run(self, held: Held, read: TaskPayload, task: Task[..., Any]) -> Outcome:
        started = self._now_ms()
        backend = _backend(task, held.lease.queue)
        result: TaskResult[Any] | None = None
        try:
            result = _running(held, read, task, backend.alias, started)
            task_started.send_robust(type(backend), task_result=result)
            args = list(read.args)
            if task.takes_context:
                args.insert(0, EchoMQContext(task_result=result, held=held))
            value, outcome = self._seal(held, read, task.call(*args, **read.kwargs), started)
        except BaseException as error:  # noqa: BLE001  # a task and its module may raise anything
            return self._failed(held, read, error, backend, result)
        _finish(backend, result, TaskResultStatus.SUCCESSFUL, value, self._now_ms())
        return Completed(keep=self._keep(held, outcome))

    def _seal(self, held: Held, read: TaskPayload, value: Any, started: int) -> tuple[Any, bytes]:
        """The value as JSON gives it back, so that it reads the same everywhere, and the outcome."""
        try:
            plain = json.loads(json.dumps(value, allow_nan=False))
            report = OutcomeReport(
                status="successful",
                task=read.task,
                args=list(read.args),
                kwargs=dict(read.kwargs),
                value=plain,
                worker=held.lease.label,
                attempt=held.lease.attempt,
                claimed_at=started,
                finished_at=self._now_ms(),
            )
            return plain, report.encoded()
        except (TypeError, ValueError, RecursionError) as error:
            raise NotJSON(
                f"{read.task} returned what JSON cannot hold ({error}); it has run and is not run again"
            ) from error

    def _failed(
        self,
        held: Held,
        read: TaskPayload,
        error: BaseException,
        backend: BaseTaskBackend | None = None,
        result: TaskResult[Any] | None = None,
    ) -> Failed:
        report = failure(held, error, self._now_ms())
        most = self.settings.max_attempts if read.max_attempts is None else read.max_attempts
        if isinstance(error, NotJSON | Cancelled):
            most = 0
        if backend is not None and result is not None and held.lease.attempt >= most:
            result.errors.append(
                TaskError(exception_class_path=report.exception, traceback=report.traceback)
            )
            _finish(backend, result, TaskResultStatus.FAILED, None, report.at)
        return Failed(
            error=report.error,
            report=report.encoded(),
            delay=self.backoff(held.lease.attempt),
            max_attempts=most,
        )

    def overrun(self, lease: Lease, seconds: float) -> Failed:
        """How a job fails whose process was killed because it ran longer than ``seconds``."""
        error = HardTimeLimitExceeded(f"hard time limit of {seconds:g} s passed")
        try:
            read = payload.decode(lease.payload)
        except InvalidPayload as unread:
            return _bury(str(unread))
        now = time.monotonic()
        return self._failed(Held(lease, now, Loss(now)), read, error)

    def backoff(self, attempt: int) -> timedelta:
        """Half to all of ``base`` doubled for each attempt so far, up to the cap."""
        base, cap = self.settings.backoff_base, self.settings.backoff_cap
        longest = min(base.total_seconds() * 2.0 ** min(attempt - 1, 40), cap.total_seconds())
        return timedelta(seconds=longest * random.uniform(0.5, 1.0))

    def _expired(self, held: Held, read: TaskPayload) -> Outcome:
        report = OutcomeReport(
            status="expired",
            task=read.task,
            args=list(read.args),
            kwargs=dict(read.kwargs),
            worker=held.lease.label,
            attempt=held.lease.attempt,
            finished_at=self._now_ms(),
        )
        return Completed(keep=self._keep(held, report.encoded()))

    def _keep(self, held: Held, outcome: bytes) -> Retention:
        return Retention(
            mark=payload.mark(held.lease.payload),
            receipt_ms=whole_ms(self.settings.receipt_ttl),
            outcome=outcome,
            result_ms=whole_ms(self.settings.result_ttl),
            limit=self.settings.max_results,
        )


def _backend(task: Task[..., Any], queue: str) -> BaseTaskBackend:
    """The backend of ours that the job came through, as far as its task and queue tell."""
    own = task.get_backend()
    ours = (one for one in task_backends.all() if isinstance(one, EchoMQBackend))
    if isinstance(own, EchoMQBackend):
        return own
    return next((one for one in ours if not one.queues or queue in one.queues), own)


def _running(
    held: Held, read: TaskPayload, task: Task[..., Any], backend: str, started: int
) -> TaskResult[Any]:
    return TaskResult(
        task=placed(task, queue_name=held.lease.queue, backend=backend),
        id=held.lease.job_id,
        status=TaskResultStatus.RUNNING,
        enqueued_at=instant(minted_ms(held.lease.job_id)),
        started_at=instant(started),
        last_attempted_at=instant(started),
        finished_at=None,
        args=list(read.args),
        kwargs=dict(read.kwargs),
        backend=backend,
        errors=[],
        worker_ids=one_each(held.lease.attempt, [held.lease.label]),
    )


def _finish(
    backend: BaseTaskBackend,
    result: TaskResult[Any],
    status: TaskResultStatus,
    value: Any,
    at_ms: int,
) -> None:
    for name, fact in (
        ("finished_at", instant(at_ms)),
        ("status", status),
        ("_return_value", value),
    ):
        object.__setattr__(result, name, fact)
    task_finished.send_robust(type(backend), task_result=result)


def _bury(error: str) -> Failed:
    return Failed(error=error, report=None, delay=timedelta(), max_attempts=0)


def _unknown(held: Held, error: UnknownTask) -> Outcome:
    """A worker of the next deploy may know it: later, excused, for about an hour; then dead."""
    if held.lease.excused >= UNKNOWN_TASK_TRIES:
        return _bury(str(error))
    pause = min(timedelta(seconds=2 ** min(held.lease.excused, 10)), UNKNOWN_TASK_PAUSE)
    return Delayed(delay=pause, why=str(error))
