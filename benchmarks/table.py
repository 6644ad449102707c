"""Results as tables of text: a line a contender, with its ratio to ours."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.contenders import CONTENDERS, OURS
from benchmarks.question import Question, Row
from benchmarks.results import Results

_TITLES = {one.name: one.title for one in CONTENDERS}


def tables(results: Results, questions: list[Question]) -> Iterator[str]:
    """One Markdown table for each row that has numbers."""
    for question in questions:
        for row in question.rows:
            told = results.told(question, row)
            if told:
                yield "\n".join(_table(row, told, results.samples[question.name][row.name]))


def _table(row: Row, told: dict[str, float], samples: dict[str, list[float]]) -> Iterator[str]:
    unit = f", {row.unit}" if row.unit else ""
    yield f"| {row.title}{unit} | | spread | beside ours |"
    yield "| --- | ---: | ---: | ---: |"
    ours = told.get(OURS)
    for name in sorted(told, key=told.__getitem__, reverse=row.more_is_better):
        spread = f"{number(min(samples[name]))} to {number(max(samples[name]))}"
        ratio = f"{told[name] / ours:.2f}" if ours else ""
        yield f"| {_TITLES[name]} | {number(told[name])} | {spread} | {ratio} |"


def number(value: float) -> str:
    """A number with about three digits that mean something."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"
