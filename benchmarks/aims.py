"""What this project wants to show beside the others, held against a run's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.contenders import OURS, PEERS, RAW, SERVICE, WAKE
from benchmarks.questions import QUESTIONS
from benchmarks.results import Results

Told = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """``wanted`` is the least that ``measure`` should give, or the most with ``at_most``."""

    sentence: str
    question: str
    row: str
    measure: Callable[[Told], float]
    wanted: float
    at_most: bool = False

    def met(self, value: float) -> bool:
        """Whether a measured value is what we want."""
        return value <= self.wanted if self.at_most else value >= self.wanted


def _best(told: Told) -> float:
    return max(told[name] for name in told if name in PEERS)


def _quickest(told: Told) -> float:
    return min(told[name] for name in told if name in PEERS)


def _drain(question: str, title: str, wanted: float) -> Aim:
    return Aim(
        sentence=f"drain, {title}, times the best peer",
        question=question,
        row="rate",
        measure=lambda told: told[OURS] / _best(told),
        wanted=wanted,
    )


AIMS: Final = (
    Aim(
        sentence="enqueue by the service call, part of the raw socket",
        question="enqueue",
        row="rate",
        measure=lambda told: told[SERVICE] / told[RAW],
        wanted=0.5,
    ),
    Aim(
        sentence="enqueue by the service call, times the best peer",
        question="enqueue",
        row="rate",
        measure=lambda told: told[SERVICE] / _best(told),
        wanted=1,
    ),
    Aim(
        sentence="bulk by the service call, part of the raw socket",
        question="bulk",
        row="rate",
        measure=lambda told: told[SERVICE] / told[RAW],
        wanted=0.6,
    ),
    Aim(
        sentence="bulk by the service call, times the best peer",
        question="bulk",
        row="rate",
        measure=lambda told: told[SERVICE] / _best(told),
        wanted=4,
    ),
    _drain("drain-1", "concurrency 1", 3),
    _drain("drain-8", "concurrency 8", 4),
    _drain("drain-two", "two processes", 3),
    Aim(
        sentence="pickup p50, part of the quickest peer's",
        question="pickup",
        row="p50",
        measure=lambda told: told[OURS] / _quickest(told),
        wanted=1,
        at_most=True,
    ),
    Aim(
        sentence="pickup p50, times a bare BLPOP",
        question="pickup",
        row="p50",
        measure=lambda told: told[OURS] / told[WAKE],
        wanted=3,
        at_most=True,
    ),
    Aim(
        sentence="start-up to the first job, times `manage.py check`",
        question="startup",
        row="of_check",
        measure=lambda told: told[OURS],
        wanted=1.15,
        at_most=True,
    ),
    Aim(
        sentence="round trips a job of a busy worker",
        question="commands",
        row="drain_reads",
        measure=lambda told: told[OURS],
        wanted=2,
        at_most=True,
    ),
    Aim(
        sentence="commands a second of an idle worker of one queue",
        question="idle",
        row="sent",
        measure=lambda told: told[OURS],
        wanted=2,
        at_most=True,
    ),
)


def judged(results: Results) -> Iterator[tuple[Aim, float]]:
    """Each aim that these results can speak of, and what they say."""
    rows = {
        (question.name, row.name): (question, row)
        for question in QUESTIONS
        for row in question.rows
    }
    for aim in AIMS:
        told = results.told(*rows[aim.question, aim.row])
        try:
            yield aim, aim.measure(told)
        except (KeyError, ValueError):
            continue
