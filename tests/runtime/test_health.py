"""What a worker tells of its health, in a file and over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from echomq_app.runtime.events import Event
from echomq_app.runtime.health import (
    Facts,
    HealthFile,
    HealthPort,
    supervisor_facts,
    worker_facts,
)
from tests.runtime.crew import Crew, crew
from tests.runtime.scene import Scene, Tale
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server


@pytest.fixture
def supervised(engine_server: Server) -> Iterator[Crew]:
    with crew(engine_server.client(), engine_server.client(), processes=2) as made:
        yield made


@contextmanager
def told_over_http(facts: Facts, host: str = "127.0.0.1") -> Iterator[HealthPort]:
    port = HealthPort(host, 0, lambda: facts)
    try:
        yield port
    finally:
        port.close()


def get(port: HealthPort, path: str, method: str = "GET") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(port.address, timeout=10)
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def verdicts(scene: Scene, stuck: str = "") -> tuple[Any, Any, Any]:
    facts = worker_facts(scene.worker, stuck)
    return facts["live"], facts["ready"], facts["state"]


def test_a_worker_is_ready_when_it_has_polled_and_says_what_it_did_when(scene: Scene) -> None:
    assert verdicts(scene) == (True, False, "serving")
    scene.enqueue(2)
    scene.worker.tick()
    scene.clock.pass_(1)
    scene.bench.end(scene.bench.running[0])
    scene.worker.tick()
    scene.clock.pass_(2)

    facts = worker_facts(scene.worker, "")

    assert verdicts(scene) == (True, True, "serving")
    assert (facts["polled_s"], facts["settled_s"], facts["turned_s"]) == (2.0, 2.0, 2.0)
    assert (facts["leases"], facts["running"], facts["slots"]) == (1, 1, 8)


def test_a_worker_that_did_not_poll_lately_is_not_ready(scene: Scene) -> None:
    scene.worker.tick()
    scene.clock.pass_(31)

    assert verdicts(scene) == (True, False, "serving")


def test_a_worker_that_rests_or_leaves_lives_and_is_not_ready(scene: Scene) -> None:
    scene.worker.tick()
    scene.worker.quiet = True
    assert verdicts(scene) == (True, False, "quiet")

    scene.worker.stop()

    assert verdicts(scene) == (True, False, "draining")


def test_a_worker_whose_server_is_away_lives_and_is_not_ready(
    scene: Scene, proxy: CuttingProxy
) -> None:
    scene.worker.tick()
    proxy.cut_before_request(times=100_000)
    scene.clock.pass_(1)
    scene.worker.tick()

    assert verdicts(scene) == (True, False, "serving")
    assert worker_facts(scene.worker, "")["server_away"] is True


def test_a_worker_that_is_stuck_does_not_live(scene: Scene) -> None:
    scene.worker.tick()

    assert verdicts(scene, "its loop does not come round") == (False, False, "stuck")


def test_a_supervisor_is_ready_with_its_first_process_that_serves(supervised: Crew) -> None:
    supervised.tick()
    first, second = supervised.puppets
    assert supervisor_facts(supervised.supervisor)["ready"] is False
    supervised.clock.now = first.own.beaten_at
    first.serve()
    supervised.clock.now = first.own.beaten_at
    supervised.tick()

    facts = supervisor_facts(supervised.supervisor)

    assert (facts["live"], facts["ready"]) == (True, True)
    assert (facts["processes"], facts["serving"]) == (2, 1)
    second.ledger.close()
    supervised.supervisor.stop()
    assert supervisor_facts(supervised.supervisor)["ready"] is False


def test_a_supervisor_whose_loop_does_not_come_round_does_not_live(supervised: Crew) -> None:
    supervised.tick()
    supervised.clock.pass_(61)

    assert supervisor_facts(supervised.supervisor)["live"] is False


def test_the_file_is_whole_at_any_time_and_goes_with_the_process(tmp_path: Path) -> None:
    path, facts, over = tmp_path / "health.json", {"live": True, "ready": True}, threading.Event()
    file = HealthFile(path, lambda: {**facts, "state": os.urandom(3).hex()}, Tale())

    def write() -> None:
        while not over.is_set():
            file.look()

    writer = threading.Thread(target=write)
    writer.start()
    read = [json.loads(path.read_text()) for _ in range(500)]
    over.set()
    writer.join()

    assert len({one["state"] for one in read}) > 1
    assert os.listdir(tmp_path) == ["health.json"]
    file.remove()
    assert os.listdir(tmp_path) == []


def test_the_file_is_written_anew_when_the_facts_turn_and_else_every_five_seconds(
    tmp_path: Path,
) -> None:
    path = tmp_path / "health.json"
    facts: Facts = {"live": True, "ready": False, "state": "serving", "polled_s": 1}
    file = HealthFile(path, lambda: facts, Tale())
    file.look()
    written = path.read_text()
    facts["polled_s"] = 2
    file.look()
    assert path.read_text() == written

    facts["ready"] = True
    file.look()

    assert json.loads(path.read_text())["polled_s"] == 2


def test_a_file_that_cannot_be_written_is_refused_at_the_start_and_told_once_later(
    tmp_path: Path,
) -> None:
    folder, tale = tmp_path / "run", Tale()
    facts: Facts = {"live": True, "ready": True, "state": "serving"}
    with pytest.raises(FileNotFoundError):
        HealthFile(folder / "health.json", lambda: facts, tale)
    folder.mkdir()
    file = HealthFile(folder / "health.json", lambda: facts, tale)
    file.remove()
    folder.rmdir()

    for state in ("quiet", "serving"):
        facts["state"] = state
        file.look()

    assert len(tale.of(Event.HEALTH_UNTOLD)) == 1
    folder.mkdir()
    file.look()
    assert (folder / "health.json").exists()


@pytest.mark.parametrize(("live", "ready"), [(True, True), (True, False), (False, False)])
def test_over_http_each_verdict_is_a_status_and_the_facts_come_along(
    live: bool, ready: bool
) -> None:
    with told_over_http({"live": live, "ready": ready, "leases": 3}) as port:
        alive, told = get(port, "/live")
        assert (alive, get(port, "/ready")[0]) == (200 if live else 503, 200 if ready else 503)
        assert json.loads(told)["leases"] == 3
        assert get(port, "/live", "HEAD") == (alive, b"")
        assert get(port, "/ready?verbose=1")[0] == (200 if ready else 503)
        assert get(port, "/")[0] == 404
        assert get(port, "/live", "POST")[0] == 501


def test_a_probe_that_says_nothing_holds_up_no_other() -> None:
    with told_over_http({"live": True, "ready": True}) as port:
        host, _, number = port.address.rpartition(":")
        dumb = http.client.HTTPConnection(host, int(number), timeout=10)
        dumb.connect()

        assert get(port, "/live")[0] == 200
        dumb.close()


def test_a_port_that_is_closed_is_free_again() -> None:
    with told_over_http({"live": True, "ready": True}) as port:
        number = int(port.address.rpartition(":")[2])

    HealthPort("127.0.0.1", number, dict).close()


def test_a_file_says_when_it_was_written(tmp_path: Path, scene: Scene) -> None:
    path = tmp_path / "health.json"
    HealthFile(path, lambda: worker_facts(scene.worker, ""), Tale())

    told = json.loads(path.read_text())

    assert told["name"] == scene.worker.name
    assert abs(datetime.now(UTC) - datetime.fromisoformat(told["at"])) < timedelta(minutes=1)
