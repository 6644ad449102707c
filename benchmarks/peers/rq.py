"""RQ: a fork for each job; its own ``enqueue_many`` sends many in a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

import redis
from rq import Queue

from benchmarks import place, tally
from benchmarks.contender import Feed

queue = Queue("bench", connection=redis.Redis.from_url(place.url()))


def noop(argument: str) -> None:
    """Notes that it ran."""
    tally.note(argument)


def _one_by_one(payloads: Sequence[str]) -> None:
    for one in payloads:
        queue.enqueue(noop, one)


def _many(payloads: Sequence[str]) -> None:
    queue.enqueue_many([Queue.prepare_data(noop, (one,)) for one in payloads])


FEED = Feed(one_by_one=_one_by_one, many=_many)
