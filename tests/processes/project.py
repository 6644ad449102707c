"""The site under test: its queue server, its database, and its processes, all ended with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, Self

import redis

from echomq_app.protocol import payload
from echomq_app.protocol.ids import JobId, Minter
from echomq_app.service.queue import Queue
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.processes.site.journal import Entry, read
from tests.servers.process import private_folder
from tests.servers.running import Running

ROOT = Path(__file__).resolve().parents[2]
STARTUP = 60.0
TABLES = (
    "runs (job TEXT)",
    "site_sheet (job TEXT PRIMARY KEY, text TEXT, fence_job BIGINT, fence BIGINT)",
)


class Command(Running):
    """A management command of the site as a process of its own."""

    def __init__(
        self, words: Sequence[str], environment: dict[str, str], log: Path, grouped: bool = False
    ) -> None:
        self._words = words
        self._grouped = grouped
        self._environment = environment
        self._log = log

    def start(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "django", *self._words],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0 if self._grouped else None,
            )
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def said(self) -> str:
        """Everything it wrote so far."""
        return self._log.read_text(errors="replace")

    def says(self, text: str, within: float = STARTUP) -> Self:
        """Wait until it has said ``text``; ``AssertionError`` when it ends before."""
        eventually(lambda: text in self.said() or not self.alive, within=within, message=text)
        assert text in self.said(), self.said()
        return self

    def ready(self) -> Self:
        """Wait until its loop is about to run."""
        return self.says(" started ")

    def lines(self, words: str) -> list[dict[str, str]]:
        """The facts of each line that has ``words``; values with spaces are left out."""
        found = [line.split(words, 1)[1] for line in self.said().splitlines() if words in line]
        pairs = [[_pair(fact) for fact in line.split() if "=" in fact] for line in found]
        return [dict(line) for line in pairs]

    def send(self, number: signal.Signals) -> Self:
        self._process.send_signal(number)
        return self

    def kill(self) -> None:
        """End it as a crash would, and wait for that."""
        self._process.kill()
        self._process.wait()

    def code(self, within: float = STARTUP) -> int:
        """Its exit code; ``AssertionError`` when it does not end."""
        try:
            return self._process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end:\n{self.said()}") from None

    def close(self) -> None:
        if self.alive:
            self.kill()


def _pair(fact: str) -> tuple[str, str]:
    name, _, value = fact.partition("=")
    return name, value


class Reachable(Protocol):
    """A server, a proxy before one, or sentinels that know one."""

    @property
    def url(self) -> str: ...

    def client(self) -> redis.Redis: ...


class Project(Running):
    """The site on ``server``, with one queue ``default``; settings may be overridden.

    ``databases`` are Django's; without them it has a database of SQLite, made here.
    """

    def __init__(
        self, server: Reachable, databases: dict[str, Any] | None = None, **settings: Any
    ) -> None:
        self.url = server.url
        self.settings = settings
        self.folder = private_folder()
        self.database = self.folder / "db.sqlite3"
        self.databases = databases or self._sqlite()
        self.client: redis.Redis = server.client()
        self.queue = Queue(Wire(self.client), "default")
        self.grouped = False
        """Whether commands lead a process group of their own, as at a terminal."""
        self._minter = Minter()
        self._commands: list[Command] = []

    def start(self) -> Self:
        with closing(sqlite3.connect(self.database)) as database:
            for table in TABLES:
                database.execute(f"CREATE TABLE {table}")
            database.commit()
        return self

    def _sqlite(self) -> dict[str, Any]:
        """One file, its connections closed after each job or kept."""
        file = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(self.database)}
        closed = {**file, "OPTIONS": {"timeout": 20}}
        return {
            "default": closed,
            "kept": {**closed, "CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True},
        }

    def close(self) -> None:
        for command in self._commands:
            command.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *words: str, **environment: str) -> Command:
        """Start a command without waiting for anything."""
        if words[0] == "emq_worker":
            words += ("-v", "2")
        log = self.folder / f"{len(self._commands)}.log"
        ours = {
            "DJANGO_SETTINGS_MODULE": "tests.processes.site.settings",
            "SITE_URL": self.url,
            "SITE_DATABASES": json.dumps(self.databases),
            "SITE_ECHOMQ": json.dumps(self.settings),
        }
        command = Command(words, {**os.environ, **ours, **environment}, log, self.grouped)
        self._commands.append(command)
        return command.start()

    def worker(self, *words: str) -> Command:
        """A worker that is about to claim."""
        return self.run("emq_worker", *words).ready()

    def enqueue(self, task: str, *args: Any, count: int = 1, queue: str = "default") -> list[JobId]:
        """New jobs of a task of the site, oldest first."""
        return self.enqueue_path(
            f"tests.processes.site.tasks.{task}", *args, count=count, queue=queue
        )

    def enqueue_path(
        self, path: str, *args: Any, count: int = 1, queue: str = "default"
    ) -> list[JobId]:
        """New jobs of the task at ``path``, oldest first."""
        ids = self._minter.mint_many(count)
        jobs = [(one, payload.encode(payload.TaskPayload(task=path, args=args))) for one in ids]
        Queue(self.queue.wire, queue).enqueue_many(jobs)
        return ids

    def journal(self, what: str | None = None) -> list[Entry]:
        """What the tasks noted, in order; only ``what`` when given."""
        found = read(self.client)
        return [entry for entry in found if what in (None, entry.what)]

    def wait_for(self, what: str, count: int = 1, within: float = 30.0) -> list[Entry]:
        """Wait until tasks have noted ``what`` so often."""
        eventually(
            lambda: len(self.journal(what)) >= count, within=within, message=f"{count} x {what}"
        )
        return self.journal(what)

    def wait_until_empty(self, within: float = 60.0) -> None:
        """Wait until nothing waits, runs or is scheduled."""

        def empty() -> bool:
            counts = self.queue.facts().counts
            return not (counts.pending or counts.active or counts.schedule)

        eventually(empty, within=within, every=0.05, message="an empty queue")

    def rows(self) -> list[str]:
        """The keys of every row that is there."""
        found = self.client.scan_iter(match=f"{self.queue.keys.base}job:*", count=1000)
        return [key.decode() for key in found]

    def runs(self) -> list[str]:
        """The jobs that wrote to the site's database."""
        return [str(job) for (job,) in self.ask("SELECT job FROM runs")]

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of the site's database."""
        with closing(sqlite3.connect(self.database)) as database:
            return database.execute(query).fetchall()
