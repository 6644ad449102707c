"""This project's service calls, without ``django.tasks``: the payload is the caller's bytes."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.contender import Feed
from echomq_app.connections import minter, queue_named


def _one_by_one(payloads: Sequence[str]) -> None:
    queue = queue_named("default")
    for one in payloads:
        queue.enqueue_new(one.encode())


def _many(payloads: Sequence[str]) -> None:
    ids = minter().mint_many(len(payloads))
    queue_named("default").enqueue_many(
        [(job_id, one.encode()) for job_id, one in zip(ids, payloads, strict=True)]
    )


FEED = Feed(one_by_one=_one_by_one, many=_many)
