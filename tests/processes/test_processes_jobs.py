"""What a supervisor does for the jobs of its processes: keeps their leases, and judges their deaths."""

from __future__ import annotations

import os
import signal

import pytest

from echomq_app.protocol.states import State
from tests.eventually import eventually
from tests.processes.project import Project

ONE = ("--processes", "1", "--lease", "1s")


def test_a_task_that_holds_the_interpreter_longer_than_its_lease_keeps_its_job(
    project: Project,
) -> None:
    (job,) = project.enqueue("holds_the_interpreter", 4.0)
    supervisor = project.run("emq_worker", *ONE)
    project.run("emq_reaper", "--beat", "100ms").ready()
    project.wait_for("start")

    project.wait_until_empty()

    assert [(entry.what, entry.token) for entry in project.journal()] == [("start", 1), ("end", 1)]
    supervisor.says("process does not renew its leases, its supervisor does")
    assert [line["job"] for line in supervisor.lines("job done ")] == [job]
    assert "lease lost" not in supervisor.said()


def test_without_processes_such_a_task_loses_its_job(project: Project) -> None:
    project.settings["MAX_LAPSES"] = 1
    (job,) = project.enqueue("holds_the_interpreter", 3.0)
    held = project.worker("--lease", "1s")
    project.wait_for("start")
    project.worker("--lease", "1s")

    held.says("lease lost: another worker may run the job")
    assert project.journal("lost")
    eventually(lambda: project.queue.state(job) is State.DEAD)


@pytest.mark.parametrize("task", ["segfaults", "exits"])
def test_a_task_that_ends_its_process_is_dead_after_its_lapses_and_the_others_finish(
    project: Project, task: str
) -> None:
    project.settings["MAX_LAPSES"] = 2
    (poison,) = project.enqueue(task, *([0] if task == "exits" else []))
    others = project.enqueue("work", 0.01, count=40)

    supervisor = project.run(
        "emq_worker", "--processes", "2", "--concurrency", "1", "--lease", "5s"
    )

    eventually(lambda: project.queue.state(poison) is State.DEAD, within=60)
    project.wait_until_empty()
    details = project.queue.job(poison)
    assert details.fields is not None
    assert details.fields["last_error"].startswith(b"its worker died 2 times")
    assert project.queue.facts().counts.completed == len(others)
    how = "SIGSEGV" if task == "segfaults" else '"exit code 0"'
    assert supervisor.said().count(f" how={how}") == 2


def test_the_job_of_a_killed_process_comes_back_long_before_its_lease_ends(
    project: Project,
) -> None:
    project.settings["LEASE"] = 600
    supervisor = project.run("emq_worker", "--processes", "1", "--concurrency", "2")
    (victim,) = project.enqueue("work", 600)
    (started,) = project.wait_for("start")

    os.kill(started.pid, signal.SIGKILL)

    supervisor.says(f"jobs of a dead process freed pid={started.pid} suspected=1")
    eventually(lambda: [entry.token for entry in project.journal("start")] == [1, 2], within=30)
    row = project.client.hmget(project.queue.keys.row(victim), "attempts", "excused", "lapses")
    assert row == [b"2", None, b"1"]
