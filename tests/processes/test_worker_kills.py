"""Workers that are frozen or cut off in the middle of jobs lose nothing and settle nothing twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.processes.project import Project
from tests.servers.engines import DEFAULT, engine
from tests.servers.server import Server


def test_a_frozen_worker_finds_its_lease_lost_and_settles_nothing(project: Project) -> None:
    (job,) = project.enqueue("work", 1.5)
    zombie = project.worker("--lease", "1s", "--no-sweep")
    project.wait_for("start")
    zombie.send(signal.SIGSTOP)
    heir = project.worker("--lease", "1s")
    project.wait_for("end")
    project.wait_until_empty()

    zombie.send(signal.SIGCONT)

    zombie.says("lease lost: another worker may run the job")
    zombie.says("outcome not sent")
    assert {entry.pid for entry in project.wait_for("lost")} == {zombie.pid}
    assert [(line["job"], line["token"]) for line in heir.lines("job done ")] == [(job, "2")]
    assert zombie.lines("job done ") == []
    assert project.queue.facts().counts.completed == 1


@pytest.fixture
def kept_server() -> Iterator[Server]:
    """A server that writes each change to its disk before it answers."""
    options = ("--appendonly", "yes", "--appendfsync", "always")
    with Server(engine(DEFAULT), *options) as server:
        yield server


@pytest.mark.part("valkey-9")
def test_a_worker_goes_on_when_its_server_is_killed_and_started_again(
    kept_server: Server,
) -> None:
    with Project(kept_server) as project:
        jobs = project.enqueue("work", 0.3, count=12)
        worker = project.worker("--concurrency", "4", "--lease", "5s")
        project.wait_for("start", 4)

        kept_server.kill()
        worker.says("server does not answer, trying again")
        kept_server.start()

        worker.says("server answers again")
        project.wait_until_empty()
        assert {entry.job for entry in project.journal("start")} == set(jobs)
        counts = project.queue.facts().counts
        assert (counts.completed, counts.dead) == (12, 0)
        assert len(worker.lines("server does not answer")) == 1
        assert worker.alive
