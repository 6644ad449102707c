"""Runs one claimed job as a Django task, and says what came of it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db import close_old_connections

from echomq_app.backend.context import EchoMQContext
from echomq_app.backend.registry import UnknownTask, find_task
from echomq_app.backend.reports import OutcomeReport, failure
from echomq_app.compat import (
    Task,
    TaskError,
    TaskResult,
    TaskResultStatus,
    task_finished,
    task_started,
)
from echomq_app.conf import Settings
from echomq_app.protocol import payload
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import InvalidPayload
from echomq_app.protocol.ids import minted_ms
from echomq_app.protocol.payload import TaskPayload
from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Completed, Delayed, Failed, Outcome
from echomq_app.service.queue import whole_ms
from echomq_app.service.records import moment

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
        close_old_connections()
        try:
            return self._run(held, read, task)
        finally:
            close_old_connections()

    def _now_ms(self) -> int:
        return int(self.clock() * 1000)

    def _run(self, held: Held, read: TaskPayload, task: Task[..., Any]) -> Outcome:
        started = self._now_ms()
        result = _running(held, read, task, started)
        sender = type(task.get_backend())
        try:
            task_started.send(sender, task_result=result)
            args = list(read.args)
            if task.takes_context:
                args.insert(0, EchoMQContext(task_result=result, held=held))
            value = _as_json(task, task.call(*args, **read.kwargs))
        except BaseException as error:  # noqa: BLE001  # a user's task may raise anything
            return self._failed(held, read, task, result, error)
        self._finish(sender, result, TaskResultStatus.SUCCESSFUL, value)
        report = OutcomeReport(
            status="successful",
            task=read.task,
            args=read.args,
            kwargs=read.kwargs,
            value=value,
            worker=held.lease.label,
            attempt=held.lease.attempt,
            claimed_at=started,
            finished_at=self._now_ms(),
        )
        return Completed(keep=self._keep(held, report))

    def _failed(
        self,
        held: Held,
        read: TaskPayload,
        task: Task[..., Any],
        result: TaskResult[Any],
        error: BaseException,
    ) -> Outcome:
        report = failure(held, error, self._now_ms())
        result.errors.append(
            TaskError(exception_class_path=report.exception, traceback=report.traceback)
        )
        most = read.max_attempts or self.settings.max_attempts
        if isinstance(error, NotJSON):
            most = 0
        if held.lease.attempt >= most:
            self._finish(type(task.get_backend()), result, TaskResultStatus.FAILED, None)
        return Failed(
            error=report.error,
            report=report.encoded(),
            delay=self.backoff(held.lease.attempt),
            max_attempts=most,
        )

    def backoff(self, attempt: int) -> timedelta:
        """Half to all of ``base`` doubled for each attempt so far, up to the cap."""
        base, cap = self.settings.backoff_base, self.settings.backoff_cap
        doubled = base.total_seconds() * 2.0 ** min(attempt - 1, 40)
        longest = min(doubled, cap.total_seconds())
        return timedelta(seconds=longest * random.uniform(0.5, 1.0))

    def _finish(
        self, sender: type[Any], result: TaskResult[Any], status: TaskResultStatus, value: Any
    ) -> None:
        put = object.__setattr__
        put(result, "finished_at", moment(self._now_ms()))
        put(result, "status", status)
        put(result, "_return_value", value)
        task_finished.send_robust(sender, task_result=result)

    def _expired(self, held: Held, read: TaskPayload) -> Outcome:
        report = OutcomeReport(
            status="expired",
            task=read.task,
            args=read.args,
            kwargs=read.kwargs,
            worker=held.lease.label,
            attempt=held.lease.attempt,
            finished_at=self._now_ms(),
        )
        return Completed(keep=self._keep(held, report))

    def _keep(self, held: Held, report: OutcomeReport) -> Retention:
        receipt = Retention(
            mark=payload.mark(held.lease.payload), receipt_ms=whole_ms(self.settings.receipt_ttl)
        )
        if not self.settings.result_ttl:
            return receipt
        return Retention(
            mark=receipt.mark,
            receipt_ms=receipt.receipt_ms,
            outcome=report.encoded(),
            result_ms=whole_ms(self.settings.result_ttl),
            limit=self.settings.max_results,
        )


def _running(held: Held, read: TaskPayload, task: Task[..., Any], started: int) -> TaskResult[Any]:
    return TaskResult(
        task=task,
        id=held.lease.job_id,
        status=TaskResultStatus.RUNNING,
        enqueued_at=moment(minted_ms(held.lease.job_id)),
        started_at=moment(started),
        last_attempted_at=moment(started),
        finished_at=None,
        args=list(read.args),
        kwargs=dict(read.kwargs),
        backend=task.backend,
        errors=[],
        worker_ids=[held.lease.label] * held.lease.attempt,
    )


def _as_json(task: Task[..., Any], value: Any) -> Any:
    """The value as JSON gives it back, so that a result reads the same everywhere."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJSON(
            f"{task.module_path} returned what JSON cannot hold ({error}); it has run and is not run again"
        ) from error


def _bury(error: str) -> Failed:
    return Failed(error=error, report=None, delay=timedelta(), max_attempts=0)


def _unknown(held: Held, error: UnknownTask) -> Outcome:
    """A worker of the next deploy may know it: later, excused, for about an hour; then dead."""
    if held.lease.excused >= UNKNOWN_TASK_TRIES:
        return _bury(str(error))
    pause = min(timedelta(seconds=2 ** min(held.lease.excused, 10)), UNKNOWN_TASK_PAUSE)
    return Delayed(delay=pause, why=str(error))
