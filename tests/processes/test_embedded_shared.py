"""Many processes, one embedded server."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from echomq_app.runtime.embedded import EmbeddedMismatch, EmbeddedServer
from tests.eventually import eventually
from tests.processes.embedded_folders import client, state_folder
from tests.processes.embedded_peer import peers

pytestmark = pytest.mark.part("valkey-9")

OTHER = {"appendfsync": "always"}


@pytest.fixture
def folder() -> Iterator[Path]:
    with state_folder() as folder:
        yield folder


def test_eight_processes_at_once_share_one_server(folder: Path) -> None:
    with peers(folder, 8) as eight:
        for peer in eight:
            peer.go()
        answers = [peer.answer() for peer in eight]

    seen = EmbeddedServer(folder).status()
    assert answers == [{"url": seen.url, "pid": seen.pid}] * 8
    assert seen.pid is not None


def test_processes_with_other_options_are_refused_by_name(folder: Path) -> None:
    url = EmbeddedServer(folder).ensure()

    with peers(folder, 2, OTHER) as two:
        answers = [peer.go().answer() for peer in two]

    assert [answer["error"] for answer in answers] == ["EmbeddedMismatch"] * 2
    assert "Recorded: appendfsync='everysec'. Asked: appendfsync='always'" in answers[0]["text"]
    assert "manage.py emq_server stop" in answers[0]["text"]
    assert client(url).config_get("appendfsync") == {"appendfsync": "everysec"}


def test_in_a_race_of_two_sets_of_options_one_set_wins_for_everybody(folder: Path) -> None:
    with peers(folder, 8) as eight, peers(folder, 2, OTHER) as two:
        for peer in [*eight, *two]:
            peer.go()
        plain = [peer.answer() for peer in eight]
        other = [peer.answer() for peer in two]

    won, lost = (plain, other) if "pid" in plain[0] else (other, plain)
    assert won == [{"url": EmbeddedServer(folder).url, "pid": won[0]["pid"]}] * len(won)
    assert {answer["error"] for answer in lost} == {"EmbeddedMismatch"}


def test_eight_processes_restart_a_killed_server_together_and_its_jobs_are_there(
    folder: Path,
) -> None:
    server = EmbeddedServer(folder)
    client(server.ensure()).zadd("emq:{mail}:pending", {"JOBaaaaaaaaaaa": 0})
    killed = server.status().pid
    assert killed is not None

    with peers(folder, 8) as eight:
        os.kill(killed, signal.SIGKILL)
        for peer in eight:
            peer.go()
        answers = [peer.answer() for peer in eight]

    again = answers[0]["pid"]
    assert answers == [{"url": server.url, "pid": again}] * 8
    assert again != killed
    assert client(server.url).zrange("emq:{mail}:pending", 0, -1) == ["JOBaaaaaaaaaaa"]


def test_the_server_outlives_the_process_group_that_started_it(folder: Path) -> None:
    with peers(folder, 1) as (starter,):
        pid = starter.go().answer()["pid"]
        os.killpg(starter.process.pid, signal.SIGKILL)
        starter.process.wait()

    seen = EmbeddedServer(folder).status()

    assert (seen.running, seen.pid) == (True, pid)


def test_a_starter_that_is_killed_leaves_no_lock_behind(folder: Path) -> None:
    with peers(folder, 4) as four:
        for peer in four:
            peer.go()
        for peer in four[:3]:
            peer.process.kill()
        answer = four[3].answer()

    assert answer["pid"] == EmbeddedServer(folder).status().pid


def test_the_same_options_spelled_out_are_no_other_options(folder: Path) -> None:
    url = EmbeddedServer(folder).ensure()

    assert EmbeddedServer(folder, options={"appendfsync": "everysec"}).ensure() == url
    with pytest.raises(EmbeddedMismatch):
        EmbeddedServer(folder, options={"maxmemory": "64mb"}).ensure()


def test_stop_ends_its_server_even_when_others_start_the_next_one_at_once(folder: Path) -> None:
    server = EmbeddedServer(folder, patience=timedelta(seconds=2))
    server.ensure()
    over = threading.Event()

    def revive() -> None:
        while not over.is_set():
            EmbeddedServer(folder).ensure()

    reviver = threading.Thread(target=revive)
    reviver.start()
    try:
        for _ in range(3):
            before = eventually(lambda: server.status().pid, message="the next server")
            assert server.stop() is True
            assert server.status().pid != before
    finally:
        over.set()
        reviver.join()
