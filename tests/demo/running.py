"""A demo that runs as its user runs it: a process with a state folder and a port of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Self
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import redis

from echomq_app.runtime.embedded import EmbeddedServer
from tests.eventually import eventually
from tests.servers.process import private_folder
from tests.servers.server import free_port

ROOT = Path(__file__).resolve().parents[2]
READY = "Ctrl-C ends everything"
STARTED = re.compile(r"^(\w[\w ]*?) +\| started as process (\d+)$", re.MULTILINE)
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
PARTS = {"site", "worker 1", "worker 2", "reaper"}


class RunningDemo:
    """``manage.py demo`` in a process group of its own, as a terminal's foreground job is."""

    def __init__(self, state: Path | None = None) -> None:
        self.folder = private_folder()
        self.state = state or self.folder
        self.port = free_port()
        self.server = EmbeddedServer(folder=self.state / "valkey")
        self._log = self.folder / "said.log"

    @property
    def environment(self) -> dict[str, str]:
        """What the demo and commands beside it see."""
        return {
            **os.environ,
            "EMQ_DEMO_STATE": str(self.state),
            "PORT": str(self.port),
            "DJANGO_SETTINGS_MODULE": "project.settings",
        }

    def start(self) -> Self:
        """Start it without waiting."""
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "demo"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def started(self) -> Self:
        """Start it and wait until it says that it is ready."""
        self.start()
        eventually(
            lambda: READY in self.said() or self.process.poll() is not None,
            within=90,
            message="a demo that is ready",
        )
        assert READY in self.said(), self.said()
        return self

    def manage(self, *arguments: str) -> str:
        """Run another command on the same state folder; its output."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout

    def said(self) -> str:
        """All that it wrote so far."""
        return self._log.read_text(errors="replace")

    def pids(self) -> dict[str, int]:
        """The process of each part that it has started, by name."""
        return {name: int(pid) for name, pid in STARTED.findall(self.said())}

    def signal_group(self, number: signal.Signals) -> None:
        """What a terminal does for Ctrl-C: signal the foreground process group."""
        os.killpg(self.process.pid, number)

    def exit_code(self) -> int:
        """Wait for its end."""
        return self.process.wait(timeout=60)

    def left_running(self) -> list[str]:
        """The parts whose processes live, and the server while a process holds its folder."""
        parts = [name for name, pid in self.pids().items() if is_alive(pid)]
        return [*parts, *(["server"] if self.server.status().held else [])]

    def client(self) -> redis.Redis:
        """A client of its embedded server that answers text."""
        return redis.Redis.from_url(self.server.url, decode_responses=True)

    def close(self) -> None:
        """End whatever is left and remove the folder."""
        if self._log.exists():
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            for pid in filter(is_alive, self.pids().values()):
                os.kill(pid, signal.SIGKILL)
        if self.state == self.folder:
            self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Customer:
    """A visitor with cookies and no JavaScript."""

    def __init__(self, port: int) -> None:
        self._site = f"http://127.0.0.1:{port}"
        self._opener: OpenerDirector = build_opener(HTTPCookieProcessor(CookieJar()))

    def look(self, path: str) -> str:
        """Fetch a page."""
        with self._opener.open(self._site + path, timeout=20) as page:
            return str(page.read().decode())

    def order(self, product_id: int, email: str) -> str:
        """Fill in the form and send it; the path of the page that it leads to."""
        token = TOKEN.search(self.look("/"))
        assert token is not None
        form = {
            "csrfmiddlewaretoken": token[1],
            "product": product_id,
            "quantity": 1,
            "email": email,
        }
        with self._opener.open(f"{self._site}/", data=urlencode(form).encode(), timeout=20) as page:
            return str(page.url).removeprefix(self._site)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not yet reaped does not."""
    command = ["ps", "-o", "stat=", "-p", str(pid)]
    asked = subprocess.run(command, check=False, capture_output=True, text=True)
    return bool(asked.stdout.strip()) and not asked.stdout.startswith("Z")
