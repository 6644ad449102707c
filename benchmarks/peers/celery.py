"""Celery on Redis, without a result backend."""

from __future__ import annotations

from collections.abc import Sequence

from celery import Celery

from benchmarks import place, tally
from benchmarks.contender import Feed

app = Celery("bench", broker=f"redis+socket://{place.socket_path()}")
app.conf.task_ignore_result = True


@app.task
def noop(argument: str) -> None:
    """Notes that it ran."""
    tally.note(argument)


def _one_by_one(payloads: Sequence[str]) -> None:
    for one in payloads:
        noop.delay(one)


FEED = Feed(one_by_one=_one_by_one)
