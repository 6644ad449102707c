"""The record that jobs leave: sixteen bytes each, appended to one file by any number of processes.

Every contender's job does just this, so a run counts what really ran, forks included. It costs a job
one to two microseconds.
"""

from __future__ import annotations

import os
import struct
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

PLACE = "BENCH_TALLY"
COPY = "BENCH_COPY"
LENGTH = 100
"""Characters of every job's one argument."""
_STAMP = 20
_RECORD = struct.Struct("<qq")


class Run(NamedTuple):
    """One job that ran: nanoseconds since its payload was made, and the worker copy that ran it."""

    age_ns: int
    copy: int


def payload() -> str:
    """An argument of ``LENGTH`` characters that opens with the time of its making."""
    return f"{time.monotonic_ns():0{_STAMP}d}".ljust(LENGTH, "x")


@cache
def _ours() -> tuple[int, int]:
    place = os.open(os.environ[PLACE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    return place, int(os.environ.get(COPY, "0"))


def note(argument: str | bytes) -> None:
    """What every job does: note that it ran, and how long after its payload was made."""
    age = time.monotonic_ns() - int(argument[:_STAMP])
    place, copy = _ours()
    os.write(place, _RECORD.pack(age, copy))


def ran() -> int:
    """Jobs that ran since the tally was cleared, in a process of the run."""
    return os.stat(os.environ[PLACE]).st_size // _RECORD.size


class Tally:
    """The file as the measuring process sees it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clear()

    def clear(self) -> None:
        """Forget all runs; writers go on at the start of the file."""
        self.path.write_bytes(b"")

    def count(self) -> int:
        """Jobs that ran since ``clear``."""
        return self.path.stat().st_size // _RECORD.size

    def runs(self) -> list[Run]:
        """Each job that ran since ``clear``, in the order in which they ended."""
        content = self.path.read_bytes()
        whole = len(content) - len(content) % _RECORD.size
        return [Run(*one) for one in _RECORD.iter_unpack(content[:whole])]
