"""How long a worker takes from its start to its first job, beside ``manage.py check``."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Final

from benchmarks.contender import Contender
from benchmarks.contenders import OURS
from benchmarks.question import Question, Row, Sample
from benchmarks.stage import Stage


def _startup(stage: Stage, contender: Contender) -> Sample:
    stage.clear()
    stage.feed(contender, 1, "one")
    begun = time.perf_counter()
    with stage.worker(contender, 8) as worker:
        stage.reach(1, [worker])
        found = {"startup": [time.perf_counter() - begun]}
    if contender.name == OURS:
        found["check"] = [_check(stage, contender)]
        found["of_check"] = [found["startup"][0] / found["check"][0]]
    return found


def _check(stage: Stage, contender: Contender) -> float:
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "django", "check"],
        env=stage.environment(contender),
        cwd=stage.folder,
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - begun


QUESTION: Final = Question(
    name="startup",
    family="startup",
    rows=(
        Row(name="startup", title="Start-up to the first job", unit="s"),
        Row(name="check", title="`manage.py check` in the same project", unit="s"),
        Row(name="of_check", title="Start-up, times `manage.py check`", unit=""),
    ),
    measure=_startup,
)
