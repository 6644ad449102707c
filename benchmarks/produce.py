"""The process that sends a contender's jobs: takes orders on its input, times them, answers in JSON.

``{"how": "one" | "many" | "paced", "count": 1000}`` is an order. It lives as long as the run, like a
web process, so imports and connections are paid once.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from importlib import import_module
from typing import Any, Final

from benchmarks import place, tally
from benchmarks.contender import Feed
from benchmarks.contenders import contender

BATCH: Final = 500
"""Jobs that one bulk call carries."""
PAUSES_S: Final = (0.01, 0.04)
"""Between two paced jobs: uneven, so that no poll keeps step with it."""
LOOK_S: Final = 0.002


def feed_of(name: str) -> Feed:
    """The ``FEED`` of a contender, with Django set up where it needs that."""
    found = contender(name)
    if found.uses_django:
        import django

        django.setup()
    feed: Feed = import_module(f"benchmarks.peers.{found.module}").FEED
    return feed


def one_by_one(feed: Feed, count: int) -> float:
    """Seconds to send ``count`` jobs, a call each."""
    packed = feed.pack([tally.payload() for _ in range(count)])
    begun = time.perf_counter()
    feed.one_by_one(packed)
    return time.perf_counter() - begun


def many(feed: Feed, count: int) -> float:
    """Seconds to send ``count`` jobs in calls of ``BATCH``; without a bulk call, one by one."""
    if feed.many is None:
        return one_by_one(feed, count)
    payloads = [tally.payload() for _ in range(count)]
    batches = [payloads[start : start + BATCH] for start in range(0, count, BATCH)]
    packed = [feed.pack_many(batch) for batch in batches]
    begun = time.perf_counter()
    for batch in packed:
        feed.many(batch)
    return time.perf_counter() - begun


def paced(feed: Feed, count: int) -> float:
    """Send jobs, each stamped as it leaves, and each when the one before has run and a pause is over."""
    begun = time.perf_counter()
    for ran in range(count):
        while tally.ran() < ran:
            time.sleep(LOOK_S)
        time.sleep(random.uniform(*PAUSES_S))
        feed.one_by_one(feed.pack([tally.payload()]))
    return time.perf_counter() - begun


WAYS: Final = {"one": one_by_one, "many": many, "paced": paced}


def main() -> None:
    """Take orders until the input ends."""
    orders, answers = sys.stdin, os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    feed = feed_of(os.environ[place.CONTENDER])
    _say(answers, {"bulk": feed.many is not None})
    for line in orders:
        order = json.loads(line)
        seconds = WAYS[order["how"]](feed, order["count"])
        _say(answers, {"seconds": seconds})


def _say(answers: Any, fact: dict[str, object]) -> None:
    answers.write(json.dumps(fact) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
