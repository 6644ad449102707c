"""Runs one claimed job as a Django task, and says what came of it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, NamedTuple

from echomq_app.backend import running
from echomq_app.backend.context import EchoMQContext
from echomq_app.backend.database import fresh_connections
from echomq_app.backend.limiting import Limiter
from echomq_app.backend.registry import UnknownTask
from echomq_app.backend.reports import OutcomeReport, failure
from echomq_app.backend.running import Placement, placement
from echomq_app.compat import TaskError, TaskResult
from echomq_app.conf import Settings
from echomq_app.protocol import payload
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import InvalidPayload
from echomq_app.protocol.payload import TaskPayload
from echomq_app.runtime.cancel import Cancelled
from echomq_app.runtime.held import Held, Loss
from echomq_app.runtime.limits import HardTimeLimitExceeded
from echomq_app.runtime.outcomes import Completed, Delayed, Failed, Outcome
from echomq_app.service.queue import whole_ms
from echomq_app.service.records import Lease

UNKNOWN_TASK_TRIES: Final = 60
UNKNOWN_TASK_PAUSE: Final = timedelta(seconds=60)
_PLAIN: Final = frozenset({type(None), bool, int, str})
"""Types whose values JSON gives back as they were."""


class NotJSON(TypeError):
    """A task returned what JSON cannot hold."""


class Run(NamedTuple):
    """A job that is about to run. ``result`` is there when the task or somebody else looks at it."""

    held: Held
    read: TaskPayload
    place: Placement
    result: TaskResult[Any] | None
    started_ms: int


class TaskRunner:
    """Called by an executor's thread with a held job; answers its outcome, whatever the task does."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        limiter: Limiter | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._limiter = limiter or Limiter(settings)
        self._receipt_ms = whole_ms(settings.receipt_ttl)
        self._result_ms = whole_ms(settings.result_ttl)

    def __call__(self, held: Held) -> Outcome:
        run = self._prepare(held)
        if not isinstance(run, Run):
            return run
        with fresh_connections():
            try:
                args = self._begin(run)
                value = self._limiter.call(held, run.place.task, args, run.read.kwargs)
                return self._succeeded(run, value)
            except BaseException as error:  # noqa: BLE001  # a task may raise anything
                return self._failed(held, run.read, error, run)

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)

    def _prepare(self, held: Held) -> Run | Outcome:
        """A run, or what comes of a job that is not to run."""
        try:
            read = payload.decode(held.lease.payload)
        except InvalidPayload as error:
            return _bury(str(error))
        now = self._now_ms()
        if read.expires_at is not None and now >= read.expires_at:
            return self._expired(held, read)
        try:
            place = placement(read.task, held.lease.queue)
        except UnknownTask as error:
            return _unknown(held, error)
        except BaseException as error:  # noqa: BLE001  # a task's module may raise anything
            return self._failed(held, read, error)
        wanted = place.task.takes_context or running.is_heard()
        result = running.begun(place, held.lease, read, now) if wanted else None
        return Run(held, read, place, result, now)

    def _begin(self, run: Run) -> list[Any]:
        """Tell that the job starts; the positional arguments of its task."""
        args = list(run.read.args)
        if run.result is not None:
            running.started(run.place, run.result)
            if run.place.task.takes_context:
                args.insert(0, EchoMQContext(task_result=run.result, held=run.held))
        return args

    def _succeeded(self, run: Run, value: Any) -> Outcome:
        now = self._now_ms()
        plain, outcome = _seal(run, value, now)
        if run.result is not None:
            running.succeeded(run.place, run.result, plain, now)
        return Completed(keep=self._keep(run.held, run.read, outcome))

    def _failed(
        self, held: Held, read: TaskPayload, error: BaseException, run: Run | None = None
    ) -> Failed:
        """An attempt that failed, before its task began or in it."""
        report = failure(held, error, self._now_ms())
        most = self.settings.max_attempts if read.max_attempts is None else read.max_attempts
        if isinstance(error, NotJSON | Cancelled):
            most = 0
        if run is not None and held.lease.attempt >= most:
            result = run.result or running.begun(run.place, held.lease, read, run.started_ms)
            told = TaskError(exception_class_path=report.exception, traceback=report.traceback)
            running.failed(run.place, result, told, report.at)
        return Failed(
            error=report.error,
            report=report.encoded(),
            delay=self.backoff(held.lease.attempt),
            max_attempts=most,
        )

    def overrun(self, lease: Lease, seconds: float) -> Failed:
        """How a job fails whose process was killed because it ran longer than ``seconds``."""
        error = HardTimeLimitExceeded(f"the hard time limit of {seconds:g} s has passed")
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
            args=read.args,
            kwargs=read.kwargs,
            worker=held.lease.label,
            attempt=held.lease.attempt,
            finished_at=self._now_ms(),
        )
        return Completed(keep=self._keep(held, read, report.encoded()))

    def _keep(self, held: Held, read: TaskPayload, outcome: bytes) -> Retention:
        return Retention(
            mark=payload.mark_of(read, held.lease.payload),
            receipt_ms=self._receipt_ms,
            outcome=outcome,
            result_ms=self._result_ms,
            limit=self.settings.max_results,
        )


def _seal(run: Run, value: Any, now: int) -> tuple[Any, bytes]:
    """The value as JSON gives it back, so that it reads the same everywhere, and the outcome."""
    read, lease = run.read, run.held.lease
    try:
        plain = value if type(value) in _PLAIN else json.loads(json.dumps(value, allow_nan=False))
        report = OutcomeReport(
            status="successful",
            task=read.task,
            args=read.args,
            kwargs=read.kwargs,
            value=plain,
            worker=lease.label,
            attempt=lease.attempt,
            claimed_at=run.started_ms,
            finished_at=now,
        )
        return plain, report.encoded()
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJSON(
            f"{read.task} returned what JSON cannot hold ({error}); it has run and is not run again"
        ) from error


def _bury(error: str) -> Failed:
    return Failed(error=error, report=None, delay=timedelta(), max_attempts=0)


def _unknown(held: Held, error: UnknownTask) -> Outcome:
    """A worker of the next deploy may know it: later, excused, for about an hour; then dead."""
    if held.lease.excused >= UNKNOWN_TASK_TRIES:
        return _bury(str(error))
    pause = min(timedelta(seconds=2 ** min(held.lease.excused, 10)), UNKNOWN_TASK_PAUSE)
    return Delayed(delay=pause, why=str(error))
