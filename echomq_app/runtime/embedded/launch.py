"""Run the server program and see it through to its first answer, or to its end."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path

from .errors import EmbeddedStartFailed
from .lock import SERVER_LOCK, is_locked
from .patience import Patience
from .place import LOG_NAME, PID_NAME, open_log, read_tail
from .probe import Answer, ping
from .record import Record

_DETACH_WITHIN_S = 15


def launch(binary: Path, folder: Path, record: Record, lock: io.FileIO, patience: Patience) -> None:
    """Start a server as ``record`` says and return when it answers.

    ``lock`` is the folder's server lock. The server inherits it, which keeps a second
    server out for as long as the first one lives; our copy is closed here, so that the lock is
    the server's alone. Raises ``EmbeddedStartFailed`` when the program ended,
    ``EmbeddedNotAnswering`` when it is silent.
    """
    start = _log_size(folder)
    try:
        seen = _detach(binary, folder, record, lock)
    finally:
        lock.close()
    while not seen:
        answer = ping(record.socket)
        if answer is Answer.READY:
            return
        if not is_locked(folder / SERVER_LOCK):
            seen = "it ended before it answered"
        else:
            patience.wait(answer)
    log = folder / LOG_NAME
    raise EmbeddedStartFailed(binary, seen, log, read_tail(log, start))


def _detach(binary: Path, folder: Path, record: Record, lock: io.FileIO) -> str:
    """Let the program put itself into the background; say what went wrong, if anything."""
    log = open_log(folder)
    try:
        code = subprocess.run(
            _command_line(binary, folder, record),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            umask=0o077,
            pass_fds=[lock.fileno()],
            timeout=_DETACH_WITHIN_S,
        ).returncode
    except OSError as error:
        return error.strerror or str(error)
    except subprocess.TimeoutExpired:
        return f"it did not go into the background within {_DETACH_WITHIN_S} s"
    finally:
        os.close(log)
    return "" if code == 0 else f"it ended with code {code}"


def _command_line(binary: Path, folder: Path, record: Record) -> list[str]:
    fixed = {
        "port": "0",
        "unixsocket": str(record.socket),
        "unixsocketperm": "600",
        "dir": str(folder),
        "logfile": str(folder / LOG_NAME),
        "pidfile": str(folder / PID_NAME),
        "appendonly": "yes",
        "daemonize": "yes",
    }
    line = [str(binary)]
    for name, value in {**record.options, **fixed}.items():
        line += [f"--{name}", value]
    return line


def _log_size(folder: Path) -> int:
    log = folder / LOG_NAME
    return log.stat().st_size if log.exists() else 0
