"""What a job costs in commands and round trips, sending and running, overheard at the server."""

from __future__ import annotations

from typing import Final

from benchmarks.contender import Contender
from benchmarks.question import Question, Row, Sample
from benchmarks.stage import Stage

COUNT: Final = 400
SECONDS: Final = 5
"""A slow contender is asked fewer."""


def _commands(stage: Stage, contender: Contender) -> Sample:
    count = stage.many(min(COUNT, contender.pace * SECONDS))
    with stage.working(contender, 8) as workers:
        with stage.frozen(workers):
            stage.tally.clear()
            with stage.overheard() as sending:
                stage.feed(contender, count, "one")
            reads = _reads(stage)
        with stage.overheard() as running:
            stage.reach(count, workers)
        reads = _reads(stage) - reads
    return {
        "enqueue_sent": [sending[0].sent / count],
        "enqueue_inside": [sending[0].inside / count],
        "drain_sent": [running[0].sent / count],
        "drain_inside": [running[0].inside / count],
        "drain_reads": [reads / count],
    }


def _reads(stage: Stage) -> int:
    """Socket reads of the server: a pipeline counts as one, so this is about round trips."""
    return int(stage.info("stats")["total_reads_processed"])


QUESTION: Final = Question(
    name="commands",
    family="commands",
    rows=(
        Row(name="enqueue_sent", title="Commands sent a job, enqueue", unit=""),
        Row(name="enqueue_inside", title="Commands inside scripts a job, enqueue", unit=""),
        Row(name="drain_sent", title="Commands sent a job, drain at 8", unit=""),
        Row(name="drain_inside", title="Commands inside scripts a job, drain at 8", unit=""),
        Row(name="drain_reads", title="Round trips a job, drain at 8", unit=""),
    ),
    measure=_commands,
    once=True,
)
