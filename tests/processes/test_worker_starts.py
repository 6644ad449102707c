"""A worker or reaper that cannot serve says why in one sentence, and exits with a code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from echomq_app.protocol.keyspace import VERSION
from tests.processes.project import Command, Project
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

COMMANDS = ["emq_worker", "emq_reaper"]


def refusal(command: Command) -> str:
    """The one line that it ended with, after exit code 1."""
    assert command.code() == 1, command.said()
    assert "Traceback" not in command.said()
    return command.said().rstrip().splitlines()[-1]


@pytest.mark.parametrize("name", COMMANDS)
def test_without_a_server_it_says_where_it_looked(project: Project, name: str) -> None:
    project.url = "unix:///nowhere/s.sock"
    project.settings["PATIENCE"] = 0.2

    said = refusal(project.run(name))

    assert said.startswith("CommandError: unix:///nowhere/s.sock: no server answered")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_foreign_fence_is_named_with_what_is_accepted(project: Project, name: str) -> None:
    project.client.set(VERSION, "echomq:9.9.9")

    said = refusal(project.run(name))

    assert "fenced for 'echomq:9.9.9' and we accept echomq:4.0.0" in said


@pytest.mark.parametrize("name", COMMANDS)
def test_a_fence_that_turns_foreign_ends_it_with_the_same_sentence(
    project: Project, name: str
) -> None:
    command = project.run(name).ready()
    project.client.set(VERSION, "echomq:9.9.9")
    project.client.client_kill_filter(skipme=True, _type="normal")

    assert "fenced for 'echomq:9.9.9'" in refusal(command)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("emq_reaper", "--queue", "a{b}"), "'a{b}'"),
        (("emq_reaper", "--queue", ""), "queue name"),
        (("emq_reaper",), "No queue: name one with --queue, or QUEUES in TASKS or ECHOMQ."),
        (("emq_reaper", "--beat", "0"), "a span is from 1ms to 24 days; got '0'"),
        (("emq_worker", "--lease", "10ms"), "argument --lease: a lease is at least 1s; got '10ms'"),
        (("emq_worker", "--lease", "1000h"), "a span is from 1ms to 24 days; got '1000h'"),
        (("emq_worker", "--lease", f"{10**400}h"), "a span is from 1ms to 24 days"),
        (
            ("emq_worker", "--lease", "soon"),
            "a span is a number and ms, s, m or h, such as 60s; got 'soon'",
        ),
        (
            (
                "emq_worker",
                "--drain=-1s",
            ),
            "a span is a number and ms, s, m or h",
        ),
        (("emq_worker", "--processes", "0"), "a whole number from 1 to 1000; got '0'"),
        (("emq_worker", "--max-jobs", "0"), "a whole number above zero; got '0'"),
        (("emq_worker", "--max-jobs", "²"), "a whole number above zero; got '²'"),
        (
            ("emq_worker", "--max-memory", "512"),
            "a size is a whole number and K, M or G, at least 1M; got '512'",
        ),
        (("emq_worker", "--max-memory", "64k"), "at least 1M; got '64k'"),
        (("emq_worker", "--concurrency", "0"), "a whole number from 1 to 1000; got '0'"),
        (("emq_worker", "--concurrency", "²"), "a whole number from 1 to 1000; got '²'"),
        (("emq_worker", "--concurrency", "٣²"), "a whole number from 1 to 1000; got '٣²'"),
    ],
)
def test_a_wrong_word_is_named(settings: Settings, words: tuple[str, ...], sentence: str) -> None:
    settings.ECHOMQ = {"CONNECTION": "unix:///nowhere/s.sock"}
    settings.TASKS = {}

    with pytest.raises(CommandError) as refused:
        call_command(*words)

    assert sentence in str(refused.value)


def test_a_wrong_option_exits_with_2(project: Project) -> None:
    command = project.run("emq_worker", "--lease", "10ms")

    assert command.code() == 2
    assert "argument --lease: a lease is at least 1s; got '10ms'" in command.said()


def test_a_server_that_is_too_old_is_named_with_what_is_needed(
    project: Project, engine_server: Server
) -> None:
    with aged(project, engine_server) as url:
        project.url = url
        said = refusal(project.run("emq_worker"))

    assert "EchoMQ needs Redis 7.0 or Valkey 8.0 and newer; this is Valkey 7.2." in said


@contextmanager
def aged(project: Project, server: Server) -> Iterator[str]:
    """The project's server, but for a version line that is as long and tells of an older one."""
    told = f"valkey_version:{project.client.info('server')['valkey_version']}".encode()
    older = b"valkey_version:7.2.".ljust(len(told), b"0")
    path = project.folder / "aged.sock"
    with _Relay(Path(server.socket_path), path, told, older):
        yield f"unix://{path}"


class _Relay:
    """Carries bytes both ways and replaces one line of what the server says."""

    def __init__(self, server: Path, path: Path, line: bytes, other: bytes) -> None:
        self._server, self._path, self._line, self._other = server, path, line, other
        self._loop = asyncio.new_event_loop()
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(self._serve(),), daemon=True
        )

    def __enter__(self) -> None:
        self._thread.start()
        assert self._ready.wait(10)

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        listener = await asyncio.start_unix_server(self._carry, self._path)
        self._ready.set()
        await self._over.wait()
        listener.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_unix_connection(self._server)

        async def forth() -> None:
            while data := await reader.read(1 << 20):
                requests.write(data)
            requests.close()

        async def back() -> None:
            while data := await answers.read(1 << 20):
                writer.write(data.replace(self._line, self._other))
            writer.close()

        await asyncio.gather(forth(), back())
