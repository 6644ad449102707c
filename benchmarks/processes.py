"""The processes of a run: started in a group of their own, and ended with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from tests.servers.running import Running

_TICK: int = os.sysconf("SC_CLK_TCK")


class Worker(Running):
    """One worker process and all that it forks."""

    def __init__(self, words: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self._words = words
        self._environment = environment
        self._log = log

    def start(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self._words],
                cwd=self._environment["PYTHONPATH"],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def said(self) -> str:
        """The end of what it wrote."""
        return self._log.read_text(errors="replace")[-1000:]

    def send(self, number: signal.Signals) -> None:
        """A signal to the whole group."""
        os.killpg(self._process.pid, number)

    def cpu_s(self) -> float:
        """Processor seconds of the group so far, with children that have ended."""
        return sum(_cpu_ticks(self._process.pid)) / _TICK

    def close(self) -> None:
        if self.alive:
            self.send(signal.SIGKILL)
        self._process.wait()


def _cpu_ticks(group: int) -> Iterator[int]:
    """User and system time of each process of a group, from Linux's ``/proc``."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            facts = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(facts[2]) == group:
            yield sum(map(int, facts[11:15]))


class Producer(Running):
    """A contender's sending process: one for the whole run."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._environment = environment
        self._log = log

    def start(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.produce"],
                cwd=self._environment["PYTHONPATH"],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self.has_bulk = bool(self._answer()["bulk"])
        return self

    def send(self, how: str, count: int) -> float:
        """Send ``count`` jobs; the seconds that took."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"how": how, "count": count}) + "\n")
        self._process.stdin.flush()
        return float(self._answer()["seconds"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the producer ended:\n{self._log.read_text()[-3000:]}")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
