"""The file in which tasks note what they did, a line at a time; a killed process tears none."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.processes.site.journal import Entry

PLACE: Final = "WORKS_JOURNAL"


@cache
def _opened(_: int) -> int:
    return os.open(os.environ[PLACE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def note(what: str, context: Any) -> None:
    """``what``, job, token and process, written at once."""
    line = f"{what} {context.job_id} {context.fence} {os.getpid()}\n"
    os.write(_opened(os.getpid()), line.encode())


def read(place: Path) -> list[Entry]:
    """All entries, oldest first."""
    if not place.exists():
        return []
    lines = (line.split() for line in place.read_text().splitlines())
    return [Entry(what, job, int(token), int(pid)) for what, job, token, pid in lines]
