"""taskiq on a Redis list; it is asynchronous, so many jobs at once are awaited together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache

from taskiq_redis import ListQueueBroker

from benchmarks import place, tally
from benchmarks.contender import Feed

broker = ListQueueBroker(url=place.url())


@broker.task
async def noop(argument: str) -> None:
    """Notes that it ran."""
    tally.note(argument)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(broker.startup())
    return loop


async def _send(payloads: Sequence[str]) -> None:
    for one in payloads:
        await noop.kiq(one)


async def _gather(payloads: Sequence[str]) -> None:
    await asyncio.gather(*(noop.kiq(one) for one in payloads))


FEED = Feed(
    one_by_one=lambda payloads: _loop().run_until_complete(_send(payloads)),
    many=lambda payloads: _loop().run_until_complete(_gather(payloads)),
)
