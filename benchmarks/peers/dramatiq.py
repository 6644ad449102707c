"""Dramatiq on Redis."""

from __future__ import annotations

from collections.abc import Sequence

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks import place, tally
from benchmarks.contender import Feed

dramatiq.set_broker(RedisBroker(url=place.url()))


@dramatiq.actor
def noop(argument: str) -> None:
    """Notes that it ran."""
    tally.note(argument)


def _one_by_one(payloads: Sequence[str]) -> None:
    for one in payloads:
        noop.send(one)


FEED = Feed(one_by_one=_one_by_one)
