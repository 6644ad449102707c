"""A signal asks a worker, or a supervisor of some, what runs."""

from __future__ import annotations

import signal

from tests.eventually import eventually
from tests.processes.project import Project


def test_usr1_tells_what_runs_and_the_job_and_the_worker_go_on(project: Project) -> None:
    (job,) = project.enqueue("work", 3.0)
    worker = project.worker("--concurrency", "2")
    project.wait_for("start")

    worker.send(signal.SIGUSR1).says(" job runs ")

    (told,) = worker.lines(" job runs ")
    assert (told["job"], told["task"]) == (job, "tests.processes.site.tasks.work")
    assert told["thread"].startswith("emq-")
    assert " < work (site/tasks.py:" in worker.said()
    (about,) = worker.lines(" asked what runs ")
    assert (about["running"], about["slots"]) == ("1", "2")
    worker.says(" job done ")
    worker.send(signal.SIGUSR1)
    eventually(lambda: len(worker.lines(" asked what runs ")) == 2)
    assert len(worker.lines(" job runs ")) == 1


def test_a_worker_whose_loop_is_stuck_in_its_log_writes_every_stack(project: Project) -> None:
    project.enqueue("holds_the_log")
    worker = project.worker("--concurrency", "2")
    project.wait_for("start")

    worker.send(signal.SIGUSR1)

    worker.says("holds_the_log", within=20).says("most recent call first")
    worker.kill()


def test_a_supervisor_tells_of_a_process_that_holds_the_interpreter(project: Project) -> None:
    (job,) = project.enqueue("holds_the_interpreter", 6.0)
    supervisor = project.run("emq_worker", "--processes", "1")
    (started,) = project.wait_for("start")

    supervisor.send(signal.SIGUSR1)

    supervisor.says(f" job runs job={job} seconds=", within=4)
    assert supervisor.lines(" asked what runs ")[0]["pid"] == str(started.pid)
    project.wait_for("end")
    eventually(lambda: len(supervisor.lines(" asked what runs ")) == 2)
    assert "slots" in supervisor.lines(" asked what runs ")[1], "the process tells of itself too"
