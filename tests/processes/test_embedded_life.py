"""One embedded server from its first start to its end, and what can go wrong between."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from echomq_app.protocol.errors import InvalidInput
from echomq_app.runtime.embedded import (
    EmbeddedNotAnswering,
    EmbeddedServer,
    EmbeddedStartFailed,
    EmbeddedStopFailed,
)
from echomq_app.runtime.embedded.lock import SERVER_LOCK, START_LOCK, lock_if_free
from tests.eventually import eventually
from tests.processes.embedded_folders import client, end_server, state_folder

pytestmark = pytest.mark.part("valkey-9")

LOCKS = {START_LOCK, SERVER_LOCK}
SHORT = timedelta(seconds=0.2)


@pytest.fixture
def folder() -> Iterator[Path]:
    with state_folder() as folder:
        yield folder


def test_it_listens_on_a_private_socket_and_on_no_port(folder: Path) -> None:
    url = EmbeddedServer(folder).ensure()

    socket = Path(url.removeprefix("unix://"))
    assert socket.parent == folder.resolve()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    assert client(url).info("server")["tcp_port"] == 0


def test_its_files_are_for_its_owner_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        client(EmbeddedServer(folder).ensure()).set("kept", "yes")
    finally:
        os.umask(before)

    kept = [folder, *folder.glob("*.*"), *folder.glob("appendonlydir/*")]
    assert {path.name for path in kept if stat.S_IMODE(path.stat().st_mode) & 0o077} <= LOCKS


def test_while_another_process_starts_the_server_nobody_else_does(folder: Path) -> None:
    server = EmbeddedServer(folder, patience=SHORT)
    folder.mkdir(mode=0o700)

    with lock_if_free(folder / START_LOCK), pytest.raises(EmbeddedNotAnswering):
        server.ensure()

    assert not (folder / "server.log").exists()
    assert server.ensure()


def test_it_appends_each_change_and_evicts_nothing(folder: Path) -> None:
    config = client(EmbeddedServer(folder).ensure()).config_get("*")

    assert config["appendonly"] == "yes"
    assert config["appendfsync"] == "everysec"
    assert config["save"] == ""
    assert config["maxmemory-policy"] == "noeviction"
    assert config["hash-max-listpack-value"] == "512"


def test_ensure_twice_is_one_server(folder: Path) -> None:
    server = EmbeddedServer(folder)
    url = server.ensure()
    pid = server.status().pid

    assert server.ensure() == url == server.url
    assert server.status().pid == pid


def test_stop_then_ensure_keeps_the_jobs(folder: Path) -> None:
    server = EmbeddedServer(folder)
    client(server.ensure()).zadd("emq:{mail}:pending", {f"JOB{n:011d}": 0 for n in range(1000)})

    assert server.stop() is True
    assert server.status().running is False
    assert server.stop() is False

    assert client(server.ensure()).zcard("emq:{mail}:pending") == 1000


def test_status_tells_what_runs_and_where(folder: Path) -> None:
    server = EmbeddedServer(folder)
    before = server.status()
    server.ensure()
    seen = server.status()

    assert (before.running, before.held, before.pid, before.problem) == (False, False, None, "")
    assert (seen.running, seen.held, seen.engine) == (True, True, "valkey")
    assert seen.version is not None
    assert seen.version.startswith("9.1.")
    assert seen.folder == folder.resolve()
    assert seen.pid == client(seen.url).info("server")["process_id"]
    assert seen.uptime is not None
    assert timedelta(0) <= seen.uptime < timedelta(seconds=30)
    assert seen.used_memory is not None
    assert seen.used_memory > 100_000
    assert seen.persistence_ok is True
    assert seen.as_json()["uptime_seconds"] == seen.uptime.total_seconds()


def test_a_frozen_server_gets_no_second_one_beside_it(folder: Path) -> None:
    server = EmbeddedServer(folder, patience=SHORT)
    server.ensure()
    pid = server.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)

    with pytest.raises(EmbeddedNotAnswering, match=f"process {pid} holds") as caught:
        server.ensure()
    frozen = server.status()
    with pytest.raises(EmbeddedStopFailed, match=f"process {pid} lives on"):
        server.stop()
    os.kill(pid, signal.SIGCONT)

    assert caught.value.pid == pid
    assert (frozen.running, frozen.held, frozen.pid) == (False, True, pid)
    assert "does not answer" in frozen.problem
    eventually(lambda: server.status().running, message="an answer after the thaw")
    assert server.stop() is True


def test_a_server_whose_socket_was_removed_gets_no_second_one_beside_it(folder: Path) -> None:
    server = EmbeddedServer(folder, patience=SHORT)
    url = server.ensure()
    client(url).set("kept", "yes")
    pid = server.status().pid
    (folder / "server.sock").unlink()

    with pytest.raises(EmbeddedNotAnswering, match=f"process {pid} holds"):
        server.ensure()
    end_server(folder)

    assert client(server.ensure()).get("kept") == "yes"


def test_a_half_written_last_command_is_cut_off_and_the_rest_is_there(folder: Path) -> None:
    server = EmbeddedServer(folder)
    client(server.ensure()).set("kept", "yes")
    end_server(folder)
    with next(folder.glob("appendonlydir/*.incr.aof")).open("ab") as appended:
        appended.write(b"*3\r\n$3\r\nSET\r\n$4\r\nlo")

    assert client(server.ensure()).keys() == ["kept"]


def test_a_broken_append_only_file_is_reported_with_the_servers_own_words(folder: Path) -> None:
    server = EmbeddedServer(folder)
    client(server.ensure()).set("kept", "yes")
    server.stop()
    appended = next(folder.glob("appendonlydir/*.incr.aof"))
    appended.write_bytes(b"nonsense\r\n" + appended.read_bytes())
    recorded = (folder / "embedded.json").read_bytes()

    with pytest.raises(EmbeddedStartFailed, match="Bad file format") as caught:
        server.ensure()

    assert str(folder.resolve() / "server.log") in str(caught.value)
    assert "Bad file format" in caught.value.log_tail
    assert (folder / "embedded.json").read_bytes() == recorded
    assert server.status().held is False


def test_an_option_that_the_server_refuses_is_reported_and_nothing_is_recorded(
    folder: Path,
) -> None:
    with pytest.raises(EmbeddedStartFailed, match=r"(?s)ended with code 1.*maxmemory-policy"):
        EmbeddedServer(folder, options={"maxmemory-policy": "sometimes"}).ensure()

    assert not (folder / "embedded.json").exists()
    assert EmbeddedServer(folder).ensure()


def test_the_log_tail_is_of_this_start_alone(folder: Path) -> None:
    server = EmbeddedServer(folder)
    server.ensure()
    server.stop()
    (folder / "embedded.json").unlink()

    with pytest.raises(EmbeddedStartFailed) as caught:
        EmbeddedServer(folder, options={"hz": "often"}).ensure()

    assert "Ready to accept connections" in (folder / "server.log").read_text()
    assert "Ready to accept connections" not in caught.value.log_tail


def test_a_long_log_makes_room_for_a_new_one(folder: Path) -> None:
    server = EmbeddedServer(folder)
    server.ensure()
    server.stop()
    (folder / "server.log").write_bytes(b"x" * 1_000_001)

    server.ensure()

    assert (folder / "server.log.1").stat().st_size == 1_000_001
    assert (folder / "server.log").stat().st_size < 10_000


def test_a_folder_that_moves_while_its_server_runs_takes_the_server_along(folder: Path) -> None:
    server = EmbeddedServer(folder)
    server.ensure()
    pid = server.status().pid
    moved = folder.with_name("moved")
    folder.rename(moved)

    there = EmbeddedServer(moved)

    assert there.ensure() == f"unix://{moved.resolve()}/server.sock"
    assert there.status().pid == pid
    assert there.stop() is True


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("appendonly", "no", "sets 'appendonly' itself"),
        ("port", "6379", "sets 'port' itself"),
        ("--port", "6379", "not the name of a server option"),
        ("maxmemory", "--port", "cannot be the value"),
        ("maxmemory", "1gb\nport 6379", "cannot be the value"),
    ],
)
def test_an_option_that_is_not_the_callers_is_refused(
    folder: Path, name: str, value: str, why: str
) -> None:
    with pytest.raises(InvalidInput, match=why):
        EmbeddedServer(folder, options={name: value})
