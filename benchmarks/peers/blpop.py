"""The least a wake can cost: a push, a blocked read, and nothing around them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import redis

from benchmarks import place, tally
from benchmarks.contender import Feed

KEY = "bench:blpop"


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(place.url(), socket_timeout=None)


def _one_by_one(payloads: Sequence[str]) -> None:
    client = _client()
    for one in payloads:
        client.lpush(KEY, one)


FEED = Feed(one_by_one=_one_by_one)


def main() -> None:
    """Run what comes, until ended."""
    client = _client()
    while True:
        _, argument = client.blpop([KEY])  # type: ignore[misc]  # its stub knows the awaited one too
        tally.note(argument)


if __name__ == "__main__":
    main()
