"""What a worker costs while it has nothing to do."""

from __future__ import annotations

import time
from typing import Final

from benchmarks.contender import Contender
from benchmarks.question import Question, Row, Sample
from benchmarks.stage import Stage

SETTLES_S: Final = 1.5
SECONDS: Final = 5.0


def _idle(stage: Stage, contender: Contender) -> Sample:
    seconds = stage.scaled(SECONDS)
    with stage.working(contender, 8) as workers:
        time.sleep(stage.scaled(SETTLES_S))
        with stage.overheard() as traffic:
            worked = workers[0].cpu_s()
            time.sleep(seconds)
            worked = workers[0].cpu_s() - worked
    return {
        "sent": [traffic[0].sent / seconds],
        "inside": [traffic[0].inside / seconds],
        "cpu": [worked / seconds * 1e3],
    }


QUESTION: Final = Question(
    name="idle",
    family="idle",
    rows=(
        Row(name="sent", title="An idle worker's commands a second", unit=""),
        Row(name="inside", title="and inside scripts", unit=""),
        Row(name="cpu", title="An idle worker's CPU a second", unit="ms"),
    ),
    measure=_idle,
    once=True,
)
