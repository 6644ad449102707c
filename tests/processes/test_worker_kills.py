"""Workers that are killed, frozen or cut off in the middle of jobs lose nothing and settle nothing twice."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterator
from typing import cast

import pytest

from tests.eventually import eventually
from tests.processes.project import Command, Project
from tests.servers.engines import DEFAULT, engine
from tests.servers.server import Server

KILLS = 20
CREW = 3
MISPLACED = """
local wrong = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. 'job:??????????????')) do
  local id, places = string.sub(key, #ARGV[1] + 5), 0
  for _, set in ipairs({ 'pending', 'active', 'schedule', 'dead' }) do
    if redis.call('ZSCORE', ARGV[1] .. set, id) then places = places + 1 end
  end
  if places ~= 1 then wrong[#wrong + 1] = id end
end
return wrong
"""
"""Rows that are not in exactly one of the four sets, seen at one instant."""


def misplaced(project: Project) -> list[bytes]:
    return cast("list[bytes]", project.client.eval(MISPLACED, 0, project.queue.keys.base))


def holders(project: Project) -> Counter[int]:
    """How many jobs each process holds now."""
    active = cast("list[bytes]", project.client.zrange(project.queue.keys.active, 0, -1))
    rows = [project.queue.keys.row(job.decode()) for job in active]
    labels = cast("list[bytes | None]", [project.client.hget(row, "worker") for row in rows])
    return Counter(int(label.split(b":")[1]) for label in labels if label is not None)


def test_twenty_kills_under_load_lose_no_job_and_let_none_be_settled_twice(
    project: Project,
) -> None:
    words = ("emq_worker", "--concurrency", "4", "--lease", "1s")
    crew = [project.worker(*words[1:]) for _ in range(CREW)]
    everyone, jobs = list(crew), []

    for _ in range(KILLS):
        if project.queue.pending_size() < 60:
            jobs += project.enqueue("work", 0.05, count=60)
        working = {command.pid: command for command in crew if command.alive}

        def at_work(among: dict[int, Command] = working) -> list[int]:
            return [pid for pid in holders(project) if pid in among]

        victim = working[random.choice(eventually(at_work, within=60))]
        victim.kill()
        crew.remove(victim)
        crew.append(project.run(*words))
        everyone.append(crew[-1])
        assert misplaced(project) == []

    project.wait_until_empty()
    for command in crew:
        command.ready().send(signal.SIGTERM)
    assert [command.code() for command in crew] == [0] * CREW

    counts = project.queue.facts().counts
    assert (counts.completed, counts.failed, counts.dead) == (len(jobs), 0, 0)
    assert project.rows() == []
    runs = Counter((entry.job, entry.token) for entry in project.journal("start"))
    assert {job for job, _ in runs} == set(jobs)
    assert set(runs.values()) == {1}
    assert len(runs) > len(jobs)
    settled = Counter(line["job"] for each in everyone for line in each.lines("job done "))
    assert max(settled.values()) == 1
    for each in everyone:
        for line in each.lines("job done "):
            receipt = project.queue.job(line["job"]).receipt
            assert receipt is not None
            assert receipt.token == int(line["token"])


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
