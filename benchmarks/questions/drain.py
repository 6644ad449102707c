"""How fast workers run a backlog of jobs that do nothing, and what that costs.

Workers start and run a job each, are stopped in their tracks while the backlog is laid, and go on:
neither start-up nor sending is in the numbers. The first twentieth is not timed.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Final

from benchmarks.contender import Contender
from benchmarks.question import Question, Row, Sample
from benchmarks.stage import Stage

SECONDS: Final = 1.5
LEAST: Final = 60
MOST: Final = 100_000

_seen: dict[tuple[str, int, int], float] = {}
"""The last rate of a contender: it sizes the next backlog."""


def _backlog(stage: Stage, contender: Contender, slots: int, copies: int) -> int:
    rate = _seen.get((contender.name, slots, copies), float(contender.pace))
    return stage.many(max(LEAST, min(rate * SECONDS, MOST)))


def _drain(slots: int, copies: int, stage: Stage, contender: Contender) -> Sample:
    count = _backlog(stage, contender, slots, copies)
    with stage.working(contender, slots, copies) as workers:
        with stage.frozen(workers):
            stage.tally.clear()
            stage.feed(contender, count)
            worked = sum(one.cpu_s() for one in workers)
            served = _server_s(stage)
        stage.reach(count // 20, workers)
        begun, already = time.perf_counter(), stage.tally.count()
        stage.reach(count, workers)
        rate = (count - already) / (time.perf_counter() - begun)
        worked = sum(one.cpu_s() for one in workers) - worked
        served = _server_s(stage) - served
    _seen[contender.name, slots, copies] = rate
    return {
        "rate": [rate],
        "worker_cpu": [worked / count * 1e6],
        "server_cpu": [served / count * 1e6],
    }


def _server_s(stage: Stage) -> float:
    cpu = stage.info("cpu")
    return float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])


def _question(name: str, title: str, slots: int, copies: int) -> Question:
    return Question(
        name=name,
        family="drain",
        rows=(
            Row(name="rate", title=f"Drain, {title}", unit="jobs/s", more_is_better=True),
            Row(name="worker_cpu", title=f"Worker CPU a job, {title}", unit="µs"),
            Row(name="server_cpu", title=f"Server CPU a job, {title}", unit="µs"),
        ),
        measure=partial(_drain, slots, copies),
    )


QUESTIONS: Final = (
    _question("drain-1", "one process, concurrency 1", 1, 1),
    _question("drain-8", "one process, concurrency 8", 8, 1),
    _question("drain-two", "two processes, concurrency 8 each", 8, 2),
)
