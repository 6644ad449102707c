"""A server on a working day: every page has something to show."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import NamedTuple

from echomq_app.connections import queue_named
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.payload import TaskPayload, encode, mark
from echomq_app.service.queue import Queue
from tests.django.admin.jobs import address

WORKER = "web-1.example.com:4711:mc2f9k:17"
TRACEBACK = """Traceback (most recent call last):
  File "/srv/shop/tasks.py", line 42, in deliver_webhook
    response.raise_for_status()
  File "/srv/lib/requests/models.py", line 1024, in raise_for_status
    raise HTTPError(http_error_msg, response=self)
requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: https://partner.example.com/hooks/1
"""


class Scene(NamedTuple):
    """The ids of one job in each state on ``default``."""

    pending: str
    active: str
    scheduled: str
    dead: str
    done: str

    def pages(self) -> dict[str, str]:
        """The address of every page, by a name for it."""
        sets = ("pending", "active", "schedule", "dead", "done")
        return {
            "queues": address("changelist"),
            **{f"set-{which}": address("set", "default", which) for which in sets},
            **{
                f"job-{name}": address("job", "default", job)
                for name, job in self._asdict().items()
            },
        }


def payload(task: str, **kwargs: object) -> bytes:
    return encode(TaskPayload(task=task, args=[4711], kwargs=kwargs, max_attempts=5))


def play() -> Scene:
    """Fill ``default`` and pause ``mail``."""
    queue = queue_named("default")
    dead = [_dead(queue) for _ in range(4)]
    done = [_done(queue) for _ in range(3)]
    active = [_active(queue) for _ in range(2)]
    scheduled = [_scheduled(queue, minutes) for minutes in (2, 45, 60 * 26)]
    pending = [
        queue.enqueue_new(payload("shop.tasks.send_receipt", email="eve@example.com", token="t"))
        for _ in range(60)
    ]
    queue_named("mail").pause()
    return Scene(pending[0], active[0], scheduled[0], dead[0], done[0])


def _active(queue: Queue) -> str:
    queue.enqueue_new(payload("shop.tasks.update_stock", product=12, quantity=3))
    (held,) = queue.claim_many(timedelta(seconds=60), 1, WORKER)
    queue.progress(held.job_id, "2 of 3 shelves")
    queue.add_log(held.job_id, "counted shelf A")
    queue.add_log(held.job_id, "counted shelf B")
    return held.job_id


def _scheduled(queue: Queue, minutes: int) -> str:
    job_id = queue._mint().mint()
    queue.schedule_in(job_id, payload("shop.tasks.remind", order=17), timedelta(minutes=minutes))
    return job_id


def _dead(queue: Queue) -> str:
    headers = {"Authorization": "Bearer 123", "Accept": "application/json"}
    url = "https://partner.example.com/hooks/1"
    queue.enqueue_new(payload("shop.tasks.deliver_webhook", url=url, headers=headers))
    error = TRACEBACK.strip().splitlines()[-1]
    for attempt in (1, 2):
        queue.promote()
        (held,) = queue.claim_many(timedelta(seconds=60), 1, WORKER)
        report = {
            "at": 1_795_968_000_000 + attempt * 60_000,
            "attempt": attempt,
            "token": held.token,
            "worker": WORKER,
            "error": error,
            "traceback": TRACEBACK,
        }
        queue.retry(
            held,
            delay=timedelta(),
            max_attempts=2,
            error=error,
            report=json.dumps(report).encode(),
        )
    return held.job_id


def _done(queue: Queue) -> str:
    queue.enqueue_new(payload("shop.tasks.send_receipt", email="eve@example.com"))
    (held,) = queue.claim_many(timedelta(seconds=60), 1, WORKER)
    outcome = {
        "status": "successful",
        "task": "shop.tasks.send_receipt",
        "args": [4711],
        "kwargs": {"email": "eve@example.com", "password": "x"},
        "value": {"message_id": "<17@shop.example.com>", "bytes": 1832},
        "worker": WORKER,
        "attempt": 1,
        "claimed_at": 1_795_968_000_000,
        "finished_at": 1_795_968_000_412,
    }
    keep = Retention(
        mark=mark(held.payload),
        receipt_ms=120_000,
        outcome=json.dumps(outcome).encode(),
        result_ms=3_600_000,
        limit=100,
    )
    queue.complete(held, keep)
    return held.job_id
