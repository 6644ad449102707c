"""``manage.py emq_server`` as an operator runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from echomq_app.runtime.embedded import EmbeddedServer
from tests.eventually import eventually
from tests.processes.embedded_folders import client, state_folder

pytestmark = pytest.mark.part("valkey-9")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder() -> Iterator[Path]:
    with state_folder() as folder:
        yield folder


def start(folder: Path, *words: str, binary: str | None = None) -> subprocess.Popen[str]:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.processes.embedded_settings",
        "EMBEDDED_FOLDER": str(folder),
    }
    if binary is not None:
        environment["EMBEDDED_BINARY"] = binary
    return subprocess.Popen(
        [sys.executable, "-m", "django", "emq_server", *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call(folder: Path, *words: str, binary: str | None = None) -> tuple[int, str, str]:
    """Exit code, output and errors of one command."""
    process = start(folder, *words, binary=binary)
    out, errors = process.communicate(timeout=60)
    return process.returncode, out, errors


@contextmanager
def running(folder: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """``emq_server run --json`` and what it said when the server was up."""
    process = start(folder, "run", "--json")
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def test_status_without_a_server_exits_with_3_and_makes_nothing(folder: Path) -> None:
    code, out, _ = call(folder, "status")

    assert code == 3
    assert out.splitlines()[0].split() == ["State", "not", "running"]
    assert not folder.exists()


def test_status_of_a_running_server_exits_with_0_and_says_where_it_is(folder: Path) -> None:
    server = EmbeddedServer(folder)
    server.ensure()
    seen = server.status()

    code, out, _ = call(folder, "status")
    code_json, out_json, _ = call(folder, "status", "--json")

    assert (code, code_json) == (0, 0)
    assert out.splitlines()[:5] == [
        "State    running",
        f"URL      {seen.url}",
        f"Folder   {seen.folder}",
        f"Process  {seen.pid}",
        f"Engine   valkey {seen.version}",
    ]
    told = json.loads(out_json)
    assert (told["running"], told["pid"], told["url"]) == (True, seen.pid, seen.url)
    assert told["engine"] == "valkey"


def test_stop_says_whether_there_was_something_to_stop(folder: Path) -> None:
    EmbeddedServer(folder).ensure()

    assert call(folder, "stop")[:2] == (0, "Stopped.\n")
    assert call(folder, "stop")[:2] == (0, "It was not running.\n")
    assert EmbeddedServer(folder).status().held is False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_run_serves_until_a_signal_and_then_stops_the_server(
    folder: Path, how: signal.Signals
) -> None:
    with running(folder) as (process, told):
        client(told["url"]).set("kept", "yes")
        process.send_signal(how)
        code = process.wait(timeout=30)

    server = EmbeddedServer(folder)
    assert code == 0
    assert server.status().held is False
    assert client(server.ensure()).get("kept") == "yes"


def test_run_ends_with_an_error_when_its_server_dies(folder: Path) -> None:
    with running(folder) as (process, told):
        os.kill(told["pid"], signal.SIGKILL)
        _, errors = process.communicate(timeout=30)

    assert process.returncode == 1
    assert f"The server has ended. Its log is {folder.resolve()}/server.log" in errors


def test_run_joins_a_server_that_runs_already(folder: Path) -> None:
    server = EmbeddedServer(folder)
    server.ensure()

    with running(folder) as (process, told):
        assert told["pid"] == server.status().pid
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)

    eventually(lambda: not server.status().held, message="the server's end")


def test_a_named_binary_that_is_missing_is_one_sentence_on_stderr(folder: Path) -> None:
    code, out, errors = call(folder, "run", binary="/nowhere/valkey-server")

    assert (code, out) == (1, "")
    assert "/nowhere/valkey-server does not exist" in errors
    assert 'ECHOMQ["EMBEDDED"]["BINARY"]' in errors
    assert "Traceback" not in errors
