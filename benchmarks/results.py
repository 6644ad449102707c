"""The numbers of a run: kept as JSON, read as medians and ratios."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.question import Question, Row, Sample

FOLDER = Path(__file__).resolve().parent / "results"


@dataclass(slots=True)
class Results:
    """``samples``: numbers by question, row and contender, those of all rounds together."""

    machine: dict[str, Any] = field(default_factory=dict)
    rounds: int = 0
    whole: bool = False
    """Whether every question was asked of every contender."""
    samples: dict[str, dict[str, dict[str, list[float]]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    loads: list[list[float]] = field(default_factory=list)

    def add(self, question: str, contender: str, sample: Sample) -> None:
        """Take in one round of one contender."""
        for row, numbers in sample.items():
            rows = self.samples.setdefault(question, {}).setdefault(row, {})
            rows.setdefault(contender, []).extend(numbers)

    def told(self, question: Question, row: Row) -> dict[str, float]:
        """The number that is told of each contender, in the order in which they were measured."""
        found = self.of(question, row)
        return {name: percentile(numbers, row.percentile) for name, numbers in found.items()}

    def of(self, question: Question, row: Row) -> dict[str, list[float]]:
        """All numbers of a row, by contender."""
        return self.samples.get(question.name, {}).get(row.of or row.name, {})

    def write(self, folder: Path, name: str) -> Path:
        """Keep it as JSON under its time and ``name``."""
        folder.mkdir(parents=True, exist_ok=True)
        begun = str(self.machine["begun"])[:16].replace(":", "")
        path = folder / f"{begun}-{name}.json"
        content = asdict(self)
        content["samples"] = _rounded(self.samples)
        path.write_text(_on_one_line(json.dumps(content, indent=1)) + "\n")
        return path


def read(path: Path) -> Results:
    """The results kept in a file."""
    return Results(**json.loads(path.read_text()))


def percentile(numbers: Iterable[float], percent: float) -> float:
    """The number that ``percent`` of all numbers do not exceed; at 50 the median."""
    ordered = sorted(numbers)
    place = (len(ordered) - 1) * percent / 100
    low, high = math.floor(place), math.ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def latest() -> Path:
    """The newest kept results of a whole run; ``FileNotFoundError`` when there are none."""
    whole = [path for path in sorted(FOLDER.glob("*.json")) if read(path).whole]
    if not whole:
        raise FileNotFoundError(f"{FOLDER} has no results of a whole run; make bench keeps some")
    return whole[-1]


def _on_one_line(text: str) -> str:
    """Each list of numbers on a line of its own."""
    return re.sub(r"\[[-\d.,e\s]+\]", lambda found: re.sub(r"\s+", " ", found.group()), text)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.4g}")
