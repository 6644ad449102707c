"""What a worker and a reaper do at the first signal, and at the second."""

from __future__ import annotations

import signal
import time

import pytest

from echomq_app.protocol.states import State
from tests.eventually import eventually, stays
from tests.processes.project import Project
from tests.servers.server import Server


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_the_running_job_ends_and_the_waiting_one_waits_on(
    project: Project, number: signal.Signals
) -> None:
    running, waiting = project.enqueue("work", 1.0, count=2)
    worker = project.worker("--concurrency", "1")
    project.wait_for("start")

    worker.send(number)

    worker.says("draining: nothing more is claimed running=1 seconds=30.0")
    assert worker.code() == 0
    assert [line["job"] for line in worker.lines("job done ")] == [running]
    assert project.queue.state(waiting) is State.PENDING
    assert worker.said().rstrip().splitlines()[-1].split(" stopped ")[1].startswith("name=")


@pytest.mark.parametrize("task", ["stubborn", "awaited"])
def test_what_outlives_the_drain_is_given_back_uncounted_and_holds_up_no_exit(
    project: Project, task: str
) -> None:
    (job,) = project.enqueue(task, 60.0)
    worker = project.worker("--drain", "500ms")
    project.wait_for("start")

    began = time.monotonic()
    worker.send(signal.SIGTERM)

    assert worker.code() == 0
    assert time.monotonic() - began < 20
    assert [line["job"] for line in worker.lines("job given back ")] == [job]
    assert project.queue.state(job) is State.PENDING
    row = project.client.hmget(project.queue.keys.row(job), "attempts", "excused")
    assert row == [b"1", b"1"]


def test_a_second_signal_leaves_at_once_with_130_and_the_job_comes_back_by_its_lease(
    project: Project,
) -> None:
    (job,) = project.enqueue("stubborn", 60.0)
    worker = project.worker("--lease", "1s")
    project.wait_for("start")
    worker.send(signal.SIGTERM).says("draining")
    stays(lambda: worker.alive, for_=0.05)

    worker.send(signal.SIGINT)

    assert worker.code(within=10) == 130
    assert project.queue.state(job) is State.ACTIVE
    heir = project.worker("--lease", "1s")
    eventually(lambda: len(project.journal("start")) == 2, within=15)
    assert [entry.token for entry in project.journal("start")] == [1, 2]
    heir.kill()


def test_processes_that_a_task_forks_are_ended_by_the_signal_that_drains_a_worker(
    project: Project,
) -> None:
    project.enqueue("ends_its_children", 20)

    assert project.run("emq_worker", "--burst").code() == 0

    assert [entry.what for entry in project.journal()] == [f"child{-signal.SIGTERM}"] * 20


def test_an_idle_worker_and_an_idle_reaper_leave_at_once(project: Project) -> None:
    for command in (project.worker(), project.run("emq_reaper", "--beat", "10m").ready()):
        began = time.monotonic()
        command.send(signal.SIGTERM)

        assert command.code() == 0
        assert time.monotonic() - began < 10


def test_a_worker_whose_server_is_frozen_still_heeds_signals(
    project: Project, engine_server: Server
) -> None:
    project.url += "&socket_timeout=1"
    worker = project.worker()
    engine_server.freeze()
    try:
        worker.send(signal.SIGTERM)
        assert worker.code(within=30) == 0
    finally:
        engine_server.thaw()
