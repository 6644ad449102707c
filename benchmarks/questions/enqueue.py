"""How fast one process sends jobs: one by one, and many in one call."""

from __future__ import annotations

from typing import Final

from benchmarks.contender import Contender
from benchmarks.question import Question, Row, Sample
from benchmarks.stage import Stage

SECONDS: Final = 0.8
TRIAL: Final = 500


def _rate(stage: Stage, contender: Contender, how: str) -> float:
    """Jobs a second, from a number of jobs that takes about ``SECONDS``."""
    stage.clear()
    trial = stage.many(TRIAL)
    rate = trial / stage.feed(contender, trial, how)
    count = max(trial, round(stage.scaled(rate * SECONDS) / trial) * trial)
    return count / stage.feed(contender, count, how)


def _one_by_one(stage: Stage, contender: Contender) -> Sample:
    return {"rate": [_rate(stage, contender, "one")]}


def _bulk(stage: Stage, contender: Contender) -> Sample:
    if not stage.producer(contender).has_bulk:
        return {}
    return {"rate": [_rate(stage, contender, "many")]}


def _rows(title: str) -> tuple[Row, ...]:
    return (Row(name="rate", title=title, unit="jobs/s", more_is_better=True),)


QUESTIONS: Final = (
    Question(
        name="enqueue", family="enqueue", rows=_rows("Enqueue one by one"), measure=_one_by_one
    ),
    Question(name="bulk", family="bulk", rows=_rows("Enqueue in bulk, 500 a call"), measure=_bulk),
)
