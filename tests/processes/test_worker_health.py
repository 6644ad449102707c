"""A worker tells whether it lives and is ready; one whose loop is stuck ends with a code of its own."""

from __future__ import annotations

import http.client
import json
import signal
from pathlib import Path
from typing import Any

from tests.eventually import eventually
from tests.processes.project import Command, Project
from tests.servers.server import Server

STUCK = 70


def status(worker: Command, path: str) -> int:
    (line,) = worker.lines(" health is told over HTTP ")
    connection = http.client.HTTPConnection(line["at"], timeout=10)
    connection.request("GET", path)
    code = connection.getresponse().status
    connection.close()
    return code


def told(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_a_worker_tells_by_file_and_port_that_it_lives_and_is_ready_and_that_it_drains(
    project: Project, tmp_path: Path
) -> None:
    file = tmp_path / "health.json"
    project.enqueue("work", 6.0)
    worker = project.worker("--health-file", str(file), "--health-port", "0")
    project.wait_for("start")
    worker.says(" health is told over HTTP at=127.0.0.1:")
    eventually(lambda: told(file)["ready"] and told(file)["leases"] == 1, within=15)
    assert (status(worker, "/live"), status(worker, "/ready")) == (200, 200)

    worker.send(signal.SIGTERM)

    eventually(lambda: status(worker, "/ready") == 503)
    assert status(worker, "/live") == 200
    assert worker.code() == 0
    assert not file.exists()


def test_a_supervisor_tells_for_its_processes(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "health.json"
    words = ("--health-file", str(file), "--health-port", "127.0.0.1:0")
    supervisor = project.run("emq_worker", "--processes", "2", *words)

    eventually(lambda: told(file)["serving"] == 2, within=60)

    assert (status(supervisor, "/live"), status(supervisor, "/ready")) == (200, 200)
    supervisor.send(signal.SIGTERM)
    assert supervisor.code() == 0
    assert not file.exists()


def test_a_worker_whose_loop_is_stuck_says_so_and_ends_with_its_own_code(
    project: Project, tmp_path: Path
) -> None:
    file = tmp_path / "health.json"
    project.enqueue("holds_the_leases")
    worker = project.worker("--watchdog", "5s", "--health-file", str(file))
    project.wait_for("start")

    assert worker.code() == STUCK

    worker.says("worker is stuck and ends name=")
    (line,) = worker.lines("worker is stuck and ends ")
    assert line["code"] == str(STUCK)
    assert " holds_the_leases" in worker.said()
    assert told(file)["live"] is False


def test_a_worker_that_is_stuck_in_its_log_ends_too(project: Project) -> None:
    project.enqueue("holds_the_log")
    worker = project.worker("--watchdog", "5s", "--concurrency", "2")
    project.wait_for("start")
    project.enqueue("work")

    assert worker.code() == STUCK
    assert "most recent call first" in worker.said()


def test_a_process_that_is_stuck_is_replaced_and_its_job_comes_back(project: Project) -> None:
    project.enqueue("holds_the_leases")
    supervisor = project.run("emq_worker", "--processes", "1", "--watchdog", "5s")

    first, second = project.wait_for("start", 2, within=60)

    assert (first.job, first.pid != second.pid) == (second.job, True)
    supervisor.says(f'process died, its jobs come back pid={first.pid} how="exit code {STUCK}"')


def test_a_worker_whose_server_is_away_is_not_stuck(
    project: Project, engine_server: Server
) -> None:
    worker = project.worker("--watchdog", "5s", "--health-port", "0")
    engine_server.kill()
    worker.says("server does not answer")

    worker.says("server still does not answer", within=90)

    assert (status(worker, "/live"), status(worker, "/ready")) == (200, 503)
    engine_server.start()
    worker.says("server answers again")


def test_what_health_cannot_be_told_by_is_one_sentence(project: Project, tmp_path: Path) -> None:
    worker = project.run("emq_worker", "--health-file", str(tmp_path / "no" / "health.json"))

    assert worker.code() == 1
    assert worker.said().rstrip().splitlines()[-1].startswith("CommandError: Health cannot be told")
