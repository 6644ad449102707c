"""The ``django.tasks`` backend: ``"BACKEND": "echomq_app.backend.EchoMQBackend"``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.checks import CheckMessage

from echomq_app import checks
from echomq_app.backend import results
from echomq_app.backend.hearing import listened
from echomq_app.backend.instants import instant
from echomq_app.backend.outbox import is_open, post
from echomq_app.backend.results import built, plain
from echomq_app.backend.sending import Delivery, Parcel, send_again
from echomq_app.compat import (
    BaseTaskBackend,
    InvalidTask,
    Task,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from echomq_app.conf import echomq_settings
from echomq_app.connections import connection_named, minter, queue_named, server_bus, wire
from echomq_app.protocol import calls, payload, replies
from echomq_app.protocol.errors import EnqueueFailed, InvalidQueueName, UnsentJob
from echomq_app.protocol.ids import is_branded, minted_ms
from echomq_app.protocol.keyspace import valid_queue_name
from echomq_app.service.queue import instant_ms

MOST_MINTS = 8
MOST_VALID = 1000


class EchoMQBackend(BaseTaskBackend):
    """Enqueues on EchoMQ queues; results are read while the job lives and from its kept outcome.

    ``OPTIONS``: ``enqueue_on_commit`` (bool) overrides ``ECHOMQ["ENQUEUE_ON_COMMIT"]``.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self._valid: dict[int, Task[..., Any]] = {}

    def validate_task(self, task: Task[..., Any]) -> None:
        """``InvalidTask`` for a task that this backend cannot run, or on a queue that cannot be."""
        super().validate_task(task)
        try:
            valid_queue_name(task.queue_name)
        except InvalidQueueName as error:
            raise InvalidTask(str(error)) from error

    def enqueue(self, task: Task[..., Any], args: Any, kwargs: Any) -> TaskResult[Any]:
        """Enqueue now, or when the open transactions have committed; the id is known at once.

        Raises ``EnqueueFailed`` with ids and payloads when the server cannot be reached in time;
        on commit it is raised by the block that commits.
        """
        self._validate_once(task)
        connection_named()
        parcel = self._pack(task, args, kwargs)
        if self.enqueue_on_commit and is_open():
            post(parcel)
            return parcel.result
        for _ in range(MOST_MINTS):
            delivery = Delivery()
            delivery.send([parcel])
            if delivery.collision is None:
                break
            parcel = self._pack(task, args, kwargs)
        delivery.conclude()
        return parcel.result

    def _validate_once(self, task: Task[..., Any]) -> None:
        """Tasks change only with the code; whoever made this one by ``using`` has validated it too."""
        if self._valid.get(id(task)) is not task:
            self.validate_task(task)
            if len(self._valid) >= MOST_VALID:
                self._valid.clear()
            self._valid[id(task)] = task

    def resend(self, failed: EnqueueFailed) -> None:
        """Send again what an ``EnqueueFailed`` carries; what was admitted is not admitted twice."""
        send_again(failed.jobs)

    @property
    def enqueue_on_commit(self) -> bool:
        return bool(self.options.get("enqueue_on_commit", echomq_settings().enqueue_on_commit))

    def _pack(self, task: Task[..., Any], args: Any, kwargs: Any) -> Parcel:
        job_id = minter().mint()
        result = self._result(task, job_id, args, kwargs)
        raw = payload.encode(
            payload.TaskPayload(
                task=task.module_path,
                args=result.args,
                kwargs=result.kwargs,
                priority=task.priority,
            ),
            limit=echomq_settings().max_payload_bytes,
        )
        job = UnsentJob(task.queue_name, job_id, raw, _run_at_ms(task.run_after))
        return Parcel(job=job, result=result, tell=self._tell)

    def _result(self, task: Task[..., Any], job_id: str, args: Any, kwargs: Any) -> TaskResult[Any]:
        try:
            return built(
                task=task,
                id=job_id,
                status=TaskResultStatus.READY,
                enqueued_at=instant(minted_ms(job_id)),
                args=plain(args),
                kwargs=plain(kwargs),
                backend=self.alias,
                errors=[],
                worker_ids=[],
            )
        except TypeError as error:
            raise payload.not_json(task.module_path, error) from error

    def _tell(self, result: TaskResult[Any]) -> None:
        if listened(task_enqueued, logging.DEBUG):
            task_enqueued.send_robust(type(self), task_result=result)

    def get_result(self, result_id: str) -> TaskResult[Any]:
        """The result of a job that lives or whose outcome is kept, else ``TaskResultDoesNotExist``."""
        queue = self._find(result_id) if is_branded(result_id) else None
        result = None
        if queue is not None:
            result = results.from_details(queue_named(queue).job(result_id), self.alias)
        if result is None:
            raise TaskResultDoesNotExist(result_id)
        return result

    def _find(self, job_id: str) -> str | None:
        """The queue that knows the job, in one round trip."""
        names: Sequence[str] = sorted(self.queues) or server_bus().known_queues()
        asked = []
        for name in names:
            keys = queue_named(name).keys
            row, result = keys.row(job_id), keys.result(job_id)
            asked.append(calls.command(row, "EXISTS", row, result, read=replies.held))
        for name, answer in zip(names, wire().answer(asked), strict=True):
            if answer.unwrap():
                return name
        return None

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        return checks.check_backend(self.alias, self.queues, self.options)


def _run_at_ms(when: datetime | None) -> int | None:
    """``USE_TZ = False`` gives naive local times. Before 1970 is as due as 1970."""
    if when is None:
        return None
    return max(0, instant_ms(when if when.tzinfo else when.astimezone()))
