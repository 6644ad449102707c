"""How many bytes a job with an argument of 100 bytes takes while it waits."""

from __future__ import annotations

from functools import partial
from typing import Final

from benchmarks.contender import Contender
from benchmarks.question import Question, Row, Sample
from benchmarks.stage import EMBEDDED_LISTPACK, LISTPACK, Stage

COUNT: Final = 3000


def _memory(listpack: int, stage: Stage, contender: Contender) -> Sample:
    count = stage.many(COUNT)
    stage.server.ask("CONFIG", "SET", LISTPACK, listpack)
    try:
        stage.clear()
        stage.feed(contender, 100)
        before = stage.info("memory")["used_memory"]
        stage.feed(contender, count)
        after = stage.info("memory")["used_memory"]
    finally:
        stage.server.ask("CONFIG", "SET", LISTPACK, EMBEDDED_LISTPACK)
    return {"bytes": [(after - before) / count]}


def _question(name: str, title: str, listpack: int) -> Question:
    row = Row(name="bytes", title=f"Bytes a pending job, {title}", unit="B")
    return Question(
        name=name, family="memory", rows=(row,), measure=partial(_memory, listpack), once=True
    )


QUESTIONS: Final = (
    _question("memory", "the embedded server's options", EMBEDDED_LISTPACK),
    _question("memory-default", "a server's default options", 64),
)
