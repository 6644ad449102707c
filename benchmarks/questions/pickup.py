"""How long an idle worker takes to start a job: from before the sending call to the job's first line."""

from __future__ import annotations

from typing import Final

from benchmarks.contender import Contender
from benchmarks.question import Question, Row, Sample
from benchmarks.stage import Stage

COUNT: Final = 80


def _pickup(stage: Stage, contender: Contender) -> Sample:
    with stage.working(contender, 8) as workers:
        stage.tally.clear()
        count = stage.many(COUNT)
        stage.feed(contender, count, "paced")
        stage.reach(count, workers)
        ages = [run.age_ns / 1e6 for run in stage.tally.runs()]
    return {"p50": ages}


QUESTION: Final = Question(
    name="pickup",
    family="pickup",
    rows=(
        Row(name="p50", title="Pickup by an idle worker, p50", unit="ms"),
        Row(
            name="p99", title="Pickup by an idle worker, p99", unit="ms", percentile=99.0, of="p50"
        ),
    ),
    measure=_pickup,
)
