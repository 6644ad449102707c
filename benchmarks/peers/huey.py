"""Huey: a list a queue, one push a job."""

from __future__ import annotations

from collections.abc import Sequence

from huey import RedisHuey

from benchmarks import place, tally
from benchmarks.contender import Feed

app = RedisHuey("bench", url=place.url())


@app.task()
def noop(argument: str) -> None:
    """Notes that it ran."""
    tally.note(argument)


def _one_by_one(payloads: Sequence[str]) -> None:
    for one in payloads:
        noop(one)


FEED = Feed(one_by_one=_one_by_one)
