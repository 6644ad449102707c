"""One file a question."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.question import Question
from benchmarks.questions import commands, drain, enqueue, idle, memory, pickup, startup

QUESTIONS: tuple[Question, ...] = (
    *enqueue.QUESTIONS,
    *drain.QUESTIONS,
    pickup.QUESTION,
    startup.QUESTION,
    commands.QUESTION,
    *memory.QUESTIONS,
    idle.QUESTION,
)


def chosen(only: Sequence[str]) -> list[Question]:
    """The questions of these names or families, all for none; ``ValueError`` for an unknown one."""
    known = {one.name for one in QUESTIONS} | {one.family for one in QUESTIONS}
    if unknown := set(only) - known:
        raise ValueError(f"no question {sorted(unknown)}; there are {', '.join(sorted(known))}")
    return [one for one in QUESTIONS if not only or {one.name, one.family} & set(only)]
