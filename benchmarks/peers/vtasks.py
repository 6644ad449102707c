"""django-vtasks on Valkey; its own ``enqueue_many`` sends many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.tasks import default_task_backend
from django_vtasks import task

from benchmarks import tally
from benchmarks.contender import Feed


@task
def noop(argument: str) -> None:
    """Notes that it ran."""
    tally.note(argument)


_backend: Any = default_task_backend


def _one_by_one(payloads: Sequence[str]) -> None:
    for one in payloads:
        noop.enqueue(one)


def _many(payloads: Sequence[str]) -> None:
    _backend.enqueue_many([(noop, (one,), {}) for one in payloads])


FEED = Feed(one_by_one=_one_by_one, many=_many)
