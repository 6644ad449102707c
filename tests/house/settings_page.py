"""Writes the settings' reference page: ``python -m tests.house.settings_page``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from checks.tree import ROOT
from echomq_app.checks import NUMBERS
from echomq_app.conf import EmbeddedSettings, FenceSettings, Settings

PAGE = ROOT / "docs" / "reference" / "settings.md"
COMMAND = "python -m tests.house.settings_page"
UNITS = {"days": 86_400, "h": 3_600, "min": 60, "s": 1}


def page() -> str:
    """The page's text: every key of ``ECHOMQ`` with its default, and every check."""
    lines = [
        "# Settings and checks",
        "",
        f"Written by `{COMMAND}` from `echomq_app/conf.py` and `echomq_app/checks.py`; edit those.",
        "",
        "## `ECHOMQ`",
        "",
        "Spans of time are seconds or a `timedelta`. A key that is not in these tables is an error.",
        "",
        *table(Settings),
        "",
        "### `EMBEDDED`",
        "",
        *table(EmbeddedSettings),
        "",
        "### `FENCE`",
        "",
        *table(FenceSettings),
        "",
        "## Checks",
        "",
        "`python manage.py check` finds these, each with a hint.",
        "",
        "| Check | Means |",
        "| --- | --- |",
        *(f"| `{number}` | {sentence} |" for number, sentence in sorted(NUMBERS.items())),
        "",
    ]
    return "\n".join(lines)


def table(kind: type[Any]) -> Iterator[str]:
    """Yield the lines of a table of one settings class."""
    yield "| Key | Default | |"
    yield "| --- | --- | --- |"
    for one in dataclasses.fields(kind):
        if "sentence" in one.metadata:
            yield f"| `{one.name.upper()}` | {shown(one.default)} | {one.metadata['sentence']} |"


def shown(default: object) -> str:
    """A default as a reader says it."""
    if default is None:
        return ""
    if isinstance(default, timedelta):
        seconds = default.total_seconds()
        unit = next(unit for unit, size in UNITS.items() if seconds % size == 0)
        return f"{seconds / UNITS[unit]:g} {unit}"
    if isinstance(default, (tuple, frozenset)):
        return ", ".join(f"`{item}`" for item in sorted(default)) or "none"
    return f"{default:,}".replace(",", " ") if type(default) is int else f"`{default}`"


if __name__ == "__main__":
    PAGE.write_text(page())
