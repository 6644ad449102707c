"""Workers are killed at random points of thousands of jobs: none is lost, none is settled twice."""

from __future__ import annotations

import os
import signal

from tests.eventually import eventually
from tests.faults.chance import times
from tests.faults.plant import Plant

JOBS = times(5_000)
KILLS = times(20)
CREW = 3
WORDS = ("--concurrency", "4", "--lease", "1s")
JOBS_OF_PROCESSES = times(1_500)
KILLS_OF_PROCESSES = times(6)


def _victim(plant: Plant, among: list[int]) -> int:
    """One of these processes, at work."""

    def at_work() -> list[int]:
        return [pid for pid in plant.at_work() if pid in among]

    return plant.chance.choice(eventually(at_work, within=60, message="a process at work"))


def test_five_thousand_jobs_survive_twenty_kills_at_random_points(plant: Plant) -> None:
    for _ in range(CREW):
        plant.hire(*WORDS)
    share = JOBS // KILLS

    for _ in range(KILLS):
        before = plant.ended()
        plant.admit_short(share)
        plant.wait_for_ends(before + plant.chance.randrange(share))
        if not plant.queue.pending_size():
            plant.admit_short(share // 5)
        working = {command.pid: command for command in plant.crew}
        victim = working[_victim(plant, list(working))]
        victim.kill()
        plant.crew.remove(victim)
        plant.hire(*WORDS)
        assert plant.census() == []

    plant.finish()
    plant.check_books()
    assert len(plant.receipts()) == len(plant.jobs) >= JOBS
    assert len(plant.journal("start")) > len(plant.jobs)


def test_a_supervisor_replaces_its_killed_processes_and_loses_nothing(plant: Plant) -> None:
    supervisor = plant.hire("--processes", "3", *WORDS)
    share = JOBS_OF_PROCESSES // KILLS_OF_PROCESSES

    for _ in range(KILLS_OF_PROCESSES):
        before = plant.ended()
        plant.admit_short(share)
        plant.wait_for_ends(before + plant.chance.randrange(share))
        if not plant.queue.pending_size():
            plant.admit_short(share // 5)
        children = [int(line["pid"]) for line in supervisor.lines("process started ")]
        buried = [int(line["pid"]) for line in supervisor.lines("process died, its jobs ")]
        os.kill(_victim(plant, sorted({*children} - {*buried})), signal.SIGKILL)
        assert plant.census() == []

    plant.finish()
    plant.check_books()
    died = supervisor.lines("process died, its jobs come back ")
    assert [line["how"] for line in died] == ["SIGKILL"] * KILLS_OF_PROCESSES
    assert len(plant.receipts()) == len(plant.jobs) >= JOBS_OF_PROCESSES
