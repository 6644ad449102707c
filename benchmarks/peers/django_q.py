"""django-q2 on Redis."""

from __future__ import annotations

from collections.abc import Sequence

from django_q.tasks import async_task

from benchmarks import tally
from benchmarks.contender import Feed


def noop(argument: str) -> None:
    """Notes that it ran."""
    tally.note(argument)


def _one_by_one(payloads: Sequence[str]) -> None:
    for one in payloads:
        async_task("benchmarks.peers.django_q.noop", one)


FEED = Feed(one_by_one=_one_by_one)
