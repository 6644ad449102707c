"""A supervisor and its processes: they serve, end together, and are replaced."""

from __future__ import annotations

import os
import signal
import time

from echomq_app.protocol.states import State
from tests.eventually import eventually, stays
from tests.processes.project import Command, Project

TWO = ("--processes", "2", "--concurrency", "2")


def children(supervisor: Command) -> list[int]:
    """The processes that it started and that live."""
    found = supervisor.lines("process started ")
    return [pid for pid in (int(line["pid"]) for line in found) if lives(pid)]


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def crew(project: Project, *words: str, size: int = 2) -> Command:
    """A supervisor whose processes all serve."""
    supervisor = project.run("emq_worker", *words)
    eventually(lambda: supervisor.said().count(" slots=") >= size, within=60)
    return supervisor


def test_two_processes_share_the_work_and_a_burst_ends_with_0(project: Project) -> None:
    jobs = project.enqueue("work", 0.3, count=12)

    supervisor = project.run("emq_worker", *TWO, "--burst")

    assert supervisor.code() == 0
    ended = project.journal("end")
    assert sorted(entry.job for entry in ended) == sorted(jobs)
    assert len({entry.pid for entry in ended}) == 2
    assert supervisor.pid not in {entry.pid for entry in ended}
    assert len(supervisor.lines("process ended ")) == 2


def test_a_drain_lets_the_jobs_of_every_process_end(project: Project) -> None:
    jobs = project.enqueue("work", 1.0, count=4)
    (later,) = project.enqueue("work", 0.0)
    supervisor = crew(project, *TWO)
    project.wait_for("start", 4)

    supervisor.send(signal.SIGTERM)

    assert supervisor.code() == 0
    assert {line["job"] for line in supervisor.lines("job done ")} >= set(jobs)
    assert project.queue.state(later) in (State.PENDING, State.DONE)
    assert children(supervisor) == []


def test_a_ctrl_c_at_the_terminal_drains_once(project: Project) -> None:
    project.grouped = True
    project.enqueue("work", 1.0, count=2)
    supervisor = crew(project, *TWO)
    project.wait_for("start", 2)

    os.killpg(supervisor.pid, signal.SIGINT)

    assert supervisor.code() == 0
    assert len(supervisor.lines("job done ")) == 2
    assert [line["code"] for line in supervisor.lines("process ended ")] == ["0", "0"]


def test_term_for_every_process_at_once_drains_too(project: Project) -> None:
    project.enqueue("work", 1.0, count=2)
    supervisor = crew(project, *TWO)
    project.wait_for("start", 2)

    for pid in (supervisor.pid, *children(supervisor)):
        os.kill(pid, signal.SIGTERM)

    assert supervisor.code() == 0
    assert len(supervisor.lines("job done ")) == 2
    assert len(supervisor.lines("process started ")) == 2


def test_a_second_signal_ends_every_process_at_once(project: Project) -> None:
    project.enqueue("stubborn", 60.0, count=2)
    supervisor = crew(project, *TWO)
    project.wait_for("start", 2)
    supervisor.send(signal.SIGTERM).says("draining: nothing more is claimed processes=2")
    stays(lambda: supervisor.alive, for_=0.05)

    supervisor.send(signal.SIGTERM)

    assert supervisor.code(within=10) == 130
    eventually(lambda: children(supervisor) == [])


def test_processes_end_when_their_supervisor_is_killed(project: Project) -> None:
    jobs = project.enqueue("work", 1.0, count=2)
    supervisor = crew(project, *TWO)
    project.wait_for("start", 2)

    supervisor.kill()

    eventually(lambda: children(supervisor) == [], within=30)
    assert [project.queue.state(job) for job in jobs] == [State.DONE] * 2


def test_a_killed_process_is_replaced_and_its_jobs_come_back(project: Project) -> None:
    supervisor = crew(project, *TWO, "--lease", "2s")
    (job,) = project.enqueue("work", 1.5)
    (started,) = project.wait_for("start")

    os.kill(started.pid, signal.SIGKILL)

    supervisor.says(f"process died, its jobs come back pid={started.pid} how=SIGKILL")
    ended = project.wait_for("end")
    assert [(entry.job, entry.token) for entry in ended] == [(job, 2)]
    eventually(lambda: len(children(supervisor)) == 2)
    project.wait_until_empty()
    supervisor.send(signal.SIGTERM)
    assert supervisor.code() == 0


def test_what_waits_in_a_process_past_its_drain_is_killed_and_given_back(project: Project) -> None:
    (job,) = project.enqueue("holds_the_interpreter", 40.0)
    supervisor = crew(project, "--processes", "1", "--drain", "1s", size=1)
    project.wait_for("start")

    began = time.monotonic()
    supervisor.send(signal.SIGTERM)

    assert supervisor.code() == 0
    assert time.monotonic() - began < 30
    supervisor.says("process has not left in time and is killed")
    row = project.client.hmget(project.queue.keys.row(job), "attempts", "excused", "state")
    assert row == [b"1", b"1", b"pending"]


def test_a_supervisor_whose_processes_cannot_start_gives_up_and_says_so(project: Project) -> None:
    supervisor = project.run("emq_worker", *TWO, SITE_BREAKS="1")

    assert supervisor.code() == 1
    assert "No process of the worker could serve" in supervisor.said()
    assert "this site breaks" in supervisor.said()
