"""A state folder belongs to the engine, the version and the options that wrote it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from echomq_app.runtime.embedded import (
    EmbeddedMismatch,
    EmbeddedRecordBroken,
    EmbeddedServer,
    EmbeddedStartFailed,
    find_binary,
)
from tests.processes.embedded_folders import client, state_folder
from tests.servers.engines import engine

pytestmark = pytest.mark.part("valkey-9")


@pytest.fixture
def folder() -> Iterator[Path]:
    with state_folder() as folder:
        yield folder


def stopped_with_a_job(folder: Path) -> EmbeddedServer:
    """A server that has run, holds one job and is stopped."""
    server = EmbeddedServer(folder)
    client(server.ensure()).zadd("emq:{mail}:pending", {"JOBaaaaaaaaaaa": 0})
    server.stop()
    return server


def contents(folder: Path) -> dict[str, bytes]:
    """Every file with what it holds, but for the locks, the log and the process id."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in {".lock", ".log", ".pid"}
    }


def record(folder: Path, **changes: object) -> dict[str, object]:
    """Read the folder's record; with ``changes``, write them into it first."""
    path = folder / "embedded.json"
    fields: dict[str, object] = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(fields))
    return fields


@pytest.mark.part("redis-7")
def test_another_engine_is_refused_and_the_files_are_untouched(folder: Path) -> None:
    stopped_with_a_job(folder)
    before = contents(folder)

    with pytest.raises(EmbeddedMismatch, match="the engine differs") as caught:
        EmbeddedServer(folder, engine("redis-7").binary).ensure()

    assert contents(folder) == before
    assert caught.value.recorded.startswith("valkey 9.1.")
    assert caught.value.asked == f"redis {engine('redis-7').version}"
    assert 'another folder in ECHOMQ["EMBEDDED"]["FOLDER"]' in str(caught.value)
    assert client(EmbeddedServer(folder).ensure()).zcard("emq:{mail}:pending") == 1


@pytest.mark.part("redis-7")
def test_another_engine_is_refused_while_the_first_one_serves(folder: Path) -> None:
    server = EmbeddedServer(folder)
    server.ensure()
    pid = server.status().pid

    with pytest.raises(EmbeddedMismatch, match="the engine differs"):
        EmbeddedServer(folder, engine("redis-7").binary).ensure()

    assert server.status().pid == pid


@pytest.mark.part("redis-7")
def test_another_engine_that_answers_in_the_folder_is_refused_whatever_the_record_says(
    folder: Path,
) -> None:
    EmbeddedServer(folder, engine("redis-7").binary).ensure()
    record(folder, engine="valkey", version="9.0.0")

    with pytest.raises(EmbeddedMismatch, match=r"the engine differs\. Recorded: redis 7"):
        EmbeddedServer(folder).ensure()


@pytest.mark.part("redis-7")
def test_another_binary_serves_a_folder_of_its_own(folder: Path) -> None:
    server = EmbeddedServer(folder, engine("redis-7").binary)
    client(server.ensure()).set("kept", "yes")
    server.stop()

    assert client(server.ensure()).get("kept") == "yes"
    assert server.status().engine == "redis"
    assert server.status().version == engine("redis-7").version


@pytest.mark.part("redis-7")
def test_an_engine_that_cannot_read_unrecorded_files_ends_and_leaves_them(folder: Path) -> None:
    stopped_with_a_job(folder)
    (folder / "embedded.json").unlink()
    before = contents(folder)

    with pytest.raises(EmbeddedStartFailed, match="ended before it answered"):
        EmbeddedServer(folder, engine("redis-7").binary).ensure()

    assert contents(folder) == before
    assert client(EmbeddedServer(folder).ensure()).zcard("emq:{mail}:pending") == 1


def test_an_older_version_is_refused(folder: Path) -> None:
    server = stopped_with_a_job(folder)
    record(folder, version="99.0.0")
    before = contents(folder)

    with pytest.raises(EmbeddedMismatch, match=r"the version differs\. Recorded: valkey 99\.0\.0"):
        server.ensure()

    assert contents(folder) == before


def test_versions_are_compared_as_numbers(folder: Path) -> None:
    server = stopped_with_a_job(folder)
    record(folder, version="10.0.0")

    with pytest.raises(EmbeddedMismatch, match="the version differs"):
        server.ensure()


def test_a_newer_version_takes_the_folder_over(folder: Path) -> None:
    server = stopped_with_a_job(folder)
    record(folder, version="9.0.12")

    url = server.ensure()

    assert record(folder)["version"] == server.status().version
    assert client(url).zcard("emq:{mail}:pending") == 1


def test_a_newer_version_that_does_not_start_leaves_the_folder_to_the_older_one(
    folder: Path,
) -> None:
    server = stopped_with_a_job(folder)
    broken = folder.with_name("valkey-server")
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "Valkey server v=99.0.0 sha=0:0" && exit\n'
        "echo this build needs another libc >&2; exit 3\n"
    )
    broken.chmod(0o700)

    with pytest.raises(EmbeddedStartFailed, match="code 3") as caught:
        EmbeddedServer(folder, broken).ensure()

    assert caught.value.log_tail == "this build needs another libc"
    assert client(server.ensure()).zcard("emq:{mail}:pending") == 1


def test_other_options_are_refused_until_the_record_is_removed_and_then_keep_the_jobs(
    folder: Path,
) -> None:
    stopped_with_a_job(folder)
    other = EmbeddedServer(folder, options={"appendfsync": "always", "maxmemory": "64mb"})

    with pytest.raises(EmbeddedMismatch) as caught:
        other.ensure()
    (folder / "embedded.json").unlink()
    url = other.ensure()

    assert caught.value.recorded == "appendfsync='everysec', maxmemory not set"
    assert caught.value.asked == "appendfsync='always', maxmemory='64mb'"
    assert str(folder.resolve() / "embedded.json") in str(caught.value)
    assert client(url).config_get("appendfsync") == {"appendfsync": "always"}
    assert client(url).zcard("emq:{mail}:pending") == 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\xff\x00",
        b"[]",
        b"{}",
        b'{"engine": "valkey", "version": 9, "options": {}, "socket": "/s"}',
        b'{"engine": "valkey", "version": "new", "options": {}, "socket": "/s"}',
        b'{"engine": "valkey", "version": "9.1.2", "options": 7, "socket": "/s"}',
        b'{"engine": "valkey", "version": "9.1.2", "options": {}, "socket": "s"}',
    ],
)
def test_a_garbage_record_is_refused_and_left_as_it_is(folder: Path, garbage: bytes) -> None:
    server = stopped_with_a_job(folder)
    (folder / "embedded.json").write_bytes(garbage)
    before = contents(folder)

    with pytest.raises(EmbeddedRecordBroken, match="does not say which engine wrote this folder"):
        server.ensure()

    assert contents(folder) == before
    assert "does not say which engine" in server.status().problem


def test_a_server_whose_record_turned_to_garbage_can_still_be_stopped(folder: Path) -> None:
    server = EmbeddedServer(folder)
    client(server.ensure()).set("kept", "yes")
    (folder / "embedded.json").write_bytes(b"garbage")

    assert server.status().running is True
    assert server.stop() is True
    (folder / "embedded.json").unlink()

    assert client(server.ensure()).get("kept") == "yes"


def test_the_record_is_there_before_the_server_is(folder: Path) -> None:
    witness = folder.with_name("valkey-server")
    witness.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] || cp {folder}/embedded.json {folder}/seen.json\n'
        f'exec {find_binary()} "$@"\n'
    )
    witness.chmod(0o700)

    EmbeddedServer(folder, witness).ensure()

    assert (folder / "seen.json").read_bytes() == (folder / "embedded.json").read_bytes()
