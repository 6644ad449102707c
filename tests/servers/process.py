"""One server process that dies with the tests, in a private folder with a short name."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tests.eventually import eventually
from tests.servers.running import Running

LONGEST_SOCKET_PATH = 100
WATCHDOG = 'read -r _; kill -9 "$1" 2>/dev/null; rm -rf "$2"'


def private_folder() -> Path:
    """A new folder whose name leaves room for a socket's path (under 100 bytes)."""
    roomy = len(os.fsencode(tempfile.gettempdir())) < LONGEST_SOCKET_PATH - 30
    return Path(tempfile.mkdtemp(prefix="emq-", dir=None if roomy else "/tmp"))


class ServerProcess(Running):
    """A program with a folder and a log; a context manager that leaves neither behind.

    ``account`` is who runs it, as ``subprocess`` names a user; empty: whoever runs the tests.
    Should the test process itself be killed, a watchdog ends the server and removes the folder.
    """

    def __init__(self) -> None:
        self.folder = private_folder()
        self.account: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str]:
        """The program and its arguments."""
        raise NotImplementedError

    def answers(self) -> bool:
        """True when the server that was just started serves requests."""
        raise NotImplementedError

    @property
    def pid(self) -> int:
        """The process id; ``AssertionError`` when the process was never started."""
        assert self._process is not None, "the server was not started"
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """What the server wrote to its output since its first start."""
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def start(self) -> Self:
        """Start and wait until it answers; ``AssertionError`` with its log if it does not."""
        assert not self.alive, f"process {self.pid} runs already"
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self.account,
            )
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", WATCHDOG, "sh", str(self.pid), str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        eventually(lambda: not self.alive or self.answers(), message="the server's first answer")
        if not self.alive:
            self._end(signal.SIGKILL)
            raise AssertionError(f"the server ended at once:\n{self.log()[-2000:]}")
        return self

    def stop(self) -> None:
        """End it as an operator would (SIGTERM), or by force after 10 s; no-op when dead."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it by SIGKILL, as a crash would; no-op when dead."""
        self._end(signal.SIGKILL)

    def restart(self) -> Self:
        """Stop it if it lives, then start it again on the same folder."""
        self.stop()
        return self.start()

    def freeze(self) -> None:
        """Stop it in its tracks (SIGSTOP): connections stay open and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on after ``freeze`` (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.communicate()
            self._watchdog = None
        if self._process is None:
            return
        if self.alive:
            self._process.send_signal(how)
            if how is not signal.SIGKILL:
                self._process.send_signal(signal.SIGCONT)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
