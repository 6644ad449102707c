"""A process of a worker and the line to it: its supervisor's end, and its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from echomq_app.runtime.ledger import Ledger
from echomq_app.runtime.threads import Bell

LEDGER_VARIABLE: Final = "ECHOMQ_LEDGER"
"""Tells a process whose memory to join; it is taken out before a task can start a program."""
SUPERVISOR_VARIABLE: Final = "ECHOMQ_SUPERVISOR"
"""Tells a process the name of its supervisor."""
_DRAIN: Final = b"d"
_STDIN: Final = 0


class ChildProcess:
    """A fresh interpreter that runs ``command``; its standard input is the line to it.

    It leads a process group of its own: a Ctrl-C at the terminal reaches its supervisor alone, and
    a kill takes the programs along that its tasks have started.
    """

    def __init__(self, command: Sequence[str], places: int, above: str) -> None:
        """Raises ``OSError`` when the system has no room for its memory or for the process."""
        self.ledger = Ledger.create(places)
        ours = {LEDGER_VARIABLE: str(self.ledger.path), SUPERVISOR_VARIABLE: above}
        environment = {**os.environ, **ours}
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, bufsize=0, env=environment, **_own_group()
            )
        except BaseException:
            self.ledger.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code, below zero for a signal; ``None`` while it runs."""
        return self._process.poll()

    def drain(self) -> None:
        """Tell it to claim nothing more and to leave. Telling it again changes nothing."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(_DRAIN)

    def ask(self) -> None:
        """Have it tell what it runs. It must be ready: before that, the signal ends it."""
        if hasattr(signal, "SIGUSR1"):
            self._process.send_signal(signal.SIGUSR1)

    def kill(self) -> None:
        """End it now, and with it its group."""
        if self._process.poll() is not None:
            return
        if sys.platform == "win32":
            self._process.kill()
        else:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let go of what its supervisor has of it."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self.ledger.close()


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


def is_supervised() -> bool:
    """Whether this process was started by a supervisor and has not joined it yet."""
    return LEDGER_VARIABLE in os.environ


def join_supervisor() -> Ledger | None:
    """The memory that this process shares with its supervisor; ``None`` without one."""
    path = os.environ.pop(LEDGER_VARIABLE, None)
    return None if path is None else Ledger.join(path)


def supervisor_name() -> str:
    """What the supervisor of this process is called; empty without one."""
    return os.environ.pop(SUPERVISOR_VARIABLE, "")


def follow(stop: Callable[[], None], bell: Bell) -> None:
    """Stop when the supervisor says so, and when it is no more, however it ended.

    The programs that tasks start get an empty standard input: none of them eats the line.
    """
    line = os.dup(_STDIN)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, _STDIN)
    os.close(empty)

    def listen() -> None:
        with suppress(OSError):
            os.read(line, 1)
        stop()
        bell.ring()

    threading.Thread(target=listen, name="emq-line", daemon=True).start()
