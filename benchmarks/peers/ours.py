"""This project through ``django.tasks``. Many at once is a transaction: all go out as it commits."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from benchmarks import tally
from benchmarks.contender import Feed
from echomq_app.compat import task


@task
def noop(argument: str) -> None:
    """Notes that it ran."""
    tally.note(argument)


def _one_by_one(payloads: Sequence[str]) -> None:
    for one in payloads:
        noop.enqueue(one)


def _many(payloads: Sequence[str]) -> None:
    with transaction.atomic():
        for one in payloads:
            noop.enqueue(one)


FEED = Feed(one_by_one=_one_by_one, many=_many)
