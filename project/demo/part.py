"""One process of the demo: started in a session of its own, heard line by line, ended with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LEASHED = (sys.executable, "-m", "project.demo.leash")
KEPT_LINES = 15
LAST_WORDS_SECONDS = 2.0

Say = Callable[[str, str], None]
"""Called with a part's name and one line of its output."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A name and the arguments that ``manage.py`` gets."""

    name: str
    arguments: tuple[str, ...]


class Process:
    """A started part. A Ctrl-C at the terminal does not reach it: whoever started it ends it.

    ``ended`` is called once, from a thread, when the process is gone and its output was read.
    """

    def __init__(self, part: Part, say: Say, ended: Callable[[Process], None]) -> None:
        self.part = part
        self.last_lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._say = say
        self._ended = ended
        self._process = subprocess.Popen(
            [*LEASHED, str(os.getpid()), sys.executable, "manage.py", *part.arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "DJANGO_RUNSERVER_HIDE_WARNING": "true"},
            start_new_session=True,
            text=True,
            errors="replace",
        )
        self._gone = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        return self._process.poll()

    def terminate(self) -> None:
        """Ask the process to end."""
        self._process.terminate()

    def end_within(self, seconds: float) -> None:
        """Wait for the end; past ``seconds`` kill the process and all that it started."""
        if not self._gone.wait(seconds):
            self.kill()
            self._gone.wait()

    def kill(self) -> None:
        """End the process and its session at once."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.last_lines.append(line.rstrip())
                self._say(self.part.name, line.rstrip())

    def _watch(self) -> None:
        self._process.wait()
        # A child of the process may hold the output open: do not wait for that one.
        self._reader.join(LAST_WORDS_SECONDS)
        self._gone.set()
        self._ended(self)
