"""Hard time limits, kept by killing the process."""

from __future__ import annotations

import pytest

from echomq_app.protocol.states import State
from tests.eventually import eventually
from tests.processes.project import Project


@pytest.mark.parametrize("how", ["waits", "holds", "freezes"])
def test_past_its_hard_limit_a_job_fails_and_the_others_of_its_process_are_not_blamed(
    project: Project, how: str
) -> None:
    project.settings["MAX_ATTEMPTS"] = 1
    (beside,) = project.enqueue("work", 4.0)
    supervisor = project.run("emq_worker", "--processes", "1", "--concurrency", "2")
    project.wait_for("start")
    (late,) = project.enqueue("limited", how)
    supervisor.says("hard time limit passed: its process is killed")

    eventually(lambda: len(project.queue.job(late).errors) == 1)
    assert (
        b"HardTimeLimitExceeded: the hard time limit of 2 s has passed"
        in (project.queue.job(late).errors[0])
    )
    project.wait_for("end")
    again = [entry for entry in project.journal("start") if entry.job == beside]
    assert [entry.token for entry in again] == [1, 2]
    assert again[0].pid != again[1].pid
    assert project.client.hget(project.queue.keys.row(late), "lapses") is None
    done = supervisor.says("job done ").lines("job done ")
    assert [(line["job"], line["attempt"]) for line in done] == [(beside, "1")]
    eventually(lambda: project.queue.state(late) is State.DEAD, within=30)


@pytest.mark.parametrize("declared", ["by a task", "in the settings"])
def test_a_worker_that_cannot_keep_hard_limits_says_so_at_the_start(
    project: Project, declared: str
) -> None:
    words = "hard time limits are kept with --processes only"
    if declared == "in the settings":
        project.settings["HARD_TIME_LIMIT"] = 60

    assert len(project.worker().lines(words)) == 1
    supervisor = project.run("emq_worker", "--processes", "1").says(" slots=")
    assert supervisor.lines(words) == []
