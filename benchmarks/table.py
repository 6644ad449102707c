"""Results as Markdown: a table for each row, a line for each aim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.aims import Aim
from benchmarks.contenders import CONTENDERS, OURS
from benchmarks.question import Question, Row
from benchmarks.results import Results

TITLES = {one.name: one.title for one in CONTENDERS}


def tables(results: Results, questions: Sequence[Question]) -> Iterator[str]:
    """One table for each row that has numbers, the best first."""
    for question in questions:
        for row in question.rows:
            if told := results.told(question, row):
                yield "\n".join(_table(row, told, results.of(question, row)))


def _table(row: Row, told: dict[str, float], samples: dict[str, list[float]]) -> Iterator[str]:
    unit = f", {row.unit}" if row.unit else ""
    yield f"| {row.title}{unit} | | spread | beside ours |"
    yield "| --- | ---: | ---: | ---: |"
    ours = told.get(OURS)
    for name in sorted(told, key=told.__getitem__, reverse=row.more_is_better):
        spread = f"{number(min(samples[name]))} to {number(max(samples[name]))}"
        ratio = f"{told[name] / ours:.2f}" if ours else ""
        yield f"| {TITLES[name]} | {number(told[name])} | {spread} | {ratio} |"


def aim_line(aim: Aim, value: float) -> str:
    """What we want, what was measured, and whether that is enough."""
    bound = "at most" if aim.at_most else "at least"
    verdict = "met" if aim.met(value) else "**not met**"
    return f"| {aim.sentence} | {bound} {aim.wanted:g} | {number(value)} | {verdict} |"


def number(value: float) -> str:
    """A number with about three digits that mean something."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"
