"""Where a run takes place: what its processes learn from their environment."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks import tally

ROOT = Path(__file__).resolve().parent.parent
URL = "BENCH_URL"
FOLDER = "BENCH_FOLDER"
CONTENDER = "BENCH_CONTENDER"
SLOTS = "BENCH_SLOTS"


def url() -> str:
    """``unix://`` URL of the run's server, in a process of the run."""
    return os.environ[URL]


def socket_path() -> str:
    """The path inside ``url()``."""
    return url().removeprefix("unix://").partition("?")[0]


def environment(server_url: str, folder: Path, name: str, slots: int = 1) -> dict[str, str]:
    """The environment of a contender's process."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "benchmarks.site.settings",
        URL: server_url,
        "RQ_REDIS_URL": server_url,
        FOLDER: str(folder),
        CONTENDER: name,
        SLOTS: str(slots),
        tally.PLACE: str(folder / "tally"),
    }
