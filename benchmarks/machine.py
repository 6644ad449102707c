"""What machine a run took place on."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import django
import hiredis
import redis

from benchmarks.contender import Contender
from benchmarks.place import ROOT


def note(server: str, contenders: Sequence[Contender]) -> dict[str, object]:
    """When, where, and with what."""
    versions: dict[str, str] = {}
    for one in contenders:
        versions |= one.versions()
    return {
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("describe", "--always", "--dirty"),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "server": server,
        "versions": {
            "Django": django.__version__,
            "redis": redis.__version__,
            "hiredis": hiredis.__version__,
            **versions,
        },
        "niceness": os.nice(0),
        "load_at_start": load(),
    }


def load() -> list[float]:
    """The mean number of runnable processes over 1, 5 and 15 minutes."""
    return [round(one, 2) for one in os.getloadavg()]


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _memory_gib() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)


def _git(*words: str) -> str:
    asked = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return asked.stdout.strip()
