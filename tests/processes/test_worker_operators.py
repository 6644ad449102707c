"""Operators see the processes that serve, and ask them to rest, to go on and to leave."""

from __future__ import annotations

import json
import signal
from datetime import timedelta
from typing import Any

from echomq_app.protocol.states import State
from echomq_app.service.workers import WorkerRecord, Workers
from tests.eventually import eventually
from tests.processes.project import Command, Project


def known(project: Project) -> list[WorkerRecord]:
    return [facts.record for facts in Workers(project.queue.wire).list()]


def states(project: Project) -> dict[str, str]:
    return {one.name: one.state for one in known(project)}


def status(project: Project) -> dict[str, Any]:
    """What the command says to programs."""
    command = project.run("emq_status", "--json")
    assert command.code() == 0, command.said()
    found: dict[str, Any] = json.loads(command.said())
    return found


def asked(project: Project, *words: str) -> Command:
    command = project.run("emq_workers", *words)
    assert command.code() == 0, command.said()
    return command


def test_a_worker_is_known_while_it_serves_and_no_longer(project: Project) -> None:
    project.enqueue("work", 30.0)
    worker = project.worker("--concurrency", "2", "--drain", "1s")
    project.wait_for("start")
    eventually(lambda: known(project)[0].running == 1, within=15)

    (one,) = known(project)
    assert (one.pid, one.kind, one.slots, one.state) == (worker.pid, "worker", 2, "serving")
    assert one.queues == ("default", "other")
    assert one.jobs[0].task == "tests.processes.site.tasks.work"

    worker.send(signal.SIGTERM)
    assert worker.code() == 0
    assert known(project) == []


def test_an_operator_quiets_a_worker_and_it_serves_again_when_resumed(project: Project) -> None:
    worker = project.worker()
    (name,) = eventually(lambda: list(states(project)))
    asked(project, "quiet", name).says(f"{name}: asked to quiet")
    worker.says("asked by an operator wish=quiet")
    eventually(lambda: states(project) == {name: "quiet"}, within=15)
    (job,) = project.enqueue("work")
    assert project.queue.state(job) is State.PENDING
    assert status(project)["queues"][0]["pending"] == 1

    asked(project, "resume", "--all")

    project.wait_for("end")
    assert worker.alive


def test_an_operator_stops_a_worker_which_drains_as_at_a_term(project: Project) -> None:
    (job,) = project.enqueue("work", 8.0)
    worker = project.worker()
    project.wait_for("start")
    (name,) = eventually(lambda: list(states(project)))

    asked(project, "stop", name)

    worker.says("draining: nothing more is claimed running=1")
    assert worker.code() == 0
    assert [line["job"] for line in worker.lines("job done ")] == [job]


def test_processes_are_known_with_their_supervisor_and_rest_and_end_with_it(
    project: Project,
) -> None:
    supervisor = project.run("emq_worker", "--processes", "2", "--concurrency", "1")
    eventually(lambda: len(known(project)) == 3, within=60)
    (above,) = [one for one in known(project) if one.kind == "supervisor"]
    children = [one for one in known(project) if one.kind == "child"]
    assert (above.pid, {one.above for one in children}) == (supervisor.pid, {above.name})

    asked(project, "quiet", above.name)
    eventually(lambda: set(states(project).values()) == {"quiet"}, within=20)
    asked(project, "stop", above.name)

    assert supervisor.code() == 0
    assert known(project) == []


def test_a_reaper_is_known_and_stopped_too(project: Project) -> None:
    reaper = project.run("emq_reaper").ready()
    eventually(lambda: [one.kind for one in known(project)] == ["reaper"])

    asked(project, "stop", "--all")

    assert reaper.code() == 0
    assert known(project) == []


def test_the_status_is_a_table_for_people(project: Project) -> None:
    project.enqueue("work", count=3)
    project.queue.pause()
    project.worker("--concurrency", "3")
    eventually(lambda: known(project))

    shown = project.run("emq_status")

    assert shown.code() == 0
    head, default, other, _, workers, one = shown.said().rstrip().splitlines()
    assert head.split()[:3] == ["Queue", "Waiting", "In"]
    assert default.split()[:2] + default.split()[-1:] == ["default", "3", "paused"]
    assert other.split()[:2] + other.split()[-1:] == ["other", "0", "open"]
    assert workers.split()[:4] == ["Worker", "Kind", "State", "Slots"]
    assert one.split()[1:5] == ["worker", "serving", "3", "0"]


def test_a_name_that_nobody_bears_is_one_sentence(project: Project) -> None:
    command = project.run("emq_workers", "stop", "nobody")

    assert command.code() == 1
    assert command.said().rstrip() == (
        "CommandError: No worker that can be asked to stop is called nobody: see emq_status."
    )


def test_without_a_name_nobody_is_asked(project: Project) -> None:
    command = project.run("emq_workers", "stop")

    assert command.code() == 1
    assert "Name workers, or give --all" in command.said()


def test_without_a_server_both_commands_say_where_they_looked(project: Project) -> None:
    project.url = "unix:///nowhere/s.sock"
    project.settings["PATIENCE"] = 0.2

    for words in (("emq_status",), ("emq_workers", "quiet", "--all")):
        command = project.run(*words)
        assert command.code() == 1
        assert command.said().startswith("CommandError: unix:///nowhere/s.sock: no server")


def test_a_job_that_ran_twice_is_told_counted_and_shown(project: Project) -> None:
    (job,) = project.enqueue("stubborn", 4.0)
    worker = project.worker("--lease", "60s", "--concurrency", "1")
    project.wait_for("start")
    project.client.zadd(project.queue.keys.active, {job: 1}, xx=True)
    project.queue.reap()
    project.queue.claim_many(timedelta(minutes=1), 1, "another:1:aa:0")

    worker.says(f"job ran twice: another claim has it, or has ended it queue=default job={job}")

    (told,) = worker.lines("job ran twice: another claim has it, or has ended it ")
    assert (told["token"], told["other_token"], told["other"]) == ("1", "2", "another:1:aa:0")
    assert 1.0 < float(told["overlap_s"]) <= 4.1
    assert status(project)["queues"][0]["stale"] == 1


def test_a_worker_that_was_frozen_says_on_waking_whose_claim_its_run_overlapped(
    project: Project,
) -> None:
    (job,) = project.enqueue("work", 3.0)
    zombie = project.worker("--lease", "1s", "--no-sweep", "--watchdog", "5s")
    project.wait_for("start")
    zombie.send(signal.SIGSTOP)
    heir = project.worker("--lease", "1s")
    project.wait_for("start", 2)

    zombie.send(signal.SIGCONT)

    zombie.says(f"job ran twice: another claim has it, or has ended it queue=default job={job}")
    (told,) = zombie.lines("job ran twice: another claim has it, or has ended it ")
    assert (told["token"], told["other_token"]) == ("1", "2")
    assert (told["label"].split(":")[1], told["other"].split(":")[1]) == (
        str(zombie.pid),
        str(heir.pid),
    )
    assert 0.0 <= float(told["overlap_s"]) <= 3.1
    assert zombie.alive
    eventually(lambda: status(project)["queues"][0]["stale"] == 1)
