"""A question: what is measured of each contender, and how its numbers read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.contender import Contender
from benchmarks.stage import Stage

Sample = dict[str, list[float]]
"""Numbers of one round, by row; one that has many (a latency each) gives them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. ``percentile`` of all samples is told; 50 is the median.

    ``of``: the row whose samples these are, when another one has brought them.
    """

    name: str
    title: str
    unit: str
    more_is_better: bool = False
    percentile: float = 50.0
    of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``family``: what contenders say they take part in. ``once``: one round is enough."""

    name: str
    family: str
    rows: tuple[Row, ...]
    measure: Callable[[Stage, Contender], Sample]
    once: bool = False
