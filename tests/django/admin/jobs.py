"""Jobs in every state, and the addresses of their pages."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from echomq_app.protocol.calls import Retention
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.payload import TaskPayload, encode, mark
from echomq_app.service.queue import Queue
from echomq_app.service.records import Lease

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

MINUTE = timedelta(minutes=1)


def connect(settings: Settings, url: str, *queues: str) -> None:
    """Name the server at ``url`` in the settings, and ``queues`` on it."""
    settings.ECHOMQ = {"CONNECTION": url, "QUEUES": queues, "PATIENCE": 0.2}


def address(name: str, *parts: object) -> str:
    """The path of the page or act ``name``."""
    return reverse(f"admin:echomq_app_queue_{name}", args=parts)


def waiting(queue: Queue, task: str = "shop.tasks.send_receipt", **kwargs: Any) -> JobId:
    return queue.enqueue_new(encode(TaskPayload(task=task, args=[1], kwargs=kwargs)))


def scheduled(queue: Queue, delay: timedelta = MINUTE) -> JobId:
    job_id = queue._mint().mint()
    queue.schedule_in(job_id, encode(TaskPayload(task="shop.tasks.later")), delay)
    return job_id


def running(queue: Queue, lease: timedelta = MINUTE, label: str = "host-1") -> Lease:
    """A job that a worker holds. Nothing else may wait in the queue."""
    waiting(queue)
    (held,) = queue.claim_many(lease, 1, label)
    return held


def failed(queue: Queue, error: str = "ValueError: no", report: Any = None) -> JobId:
    """A dead job. Nothing else may wait in the queue."""
    held = running(queue)
    raw = report if isinstance(report, bytes) or report is None else json.dumps(report).encode()
    queue.retry(held, delay=timedelta(), max_attempts=1, error=error, report=raw)
    return held.job_id


def done(queue: Queue, outcome: Any) -> JobId:
    """A job whose outcome is kept. Nothing else may wait in the queue."""
    held = running(queue)
    raw = outcome if isinstance(outcome, bytes) else json.dumps(outcome).encode()
    keep = Retention(
        mark=mark(held.payload), receipt_ms=60_000, outcome=raw, result_ms=60_000, limit=100
    )
    queue.complete(held, keep)
    return held.job_id
