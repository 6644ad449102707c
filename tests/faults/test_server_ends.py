"""The server is killed, stopped or replaced under load: what it still knows is settled once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.eventually import eventually
from tests.faults.chance import times
from tests.faults.plant import Plant
from tests.servers.engines import DEFAULT, engine
from tests.servers.sentinel import Sentinel
from tests.servers.server import Server

WORDS = ("--concurrency", "4", "--lease", "1s")
SHARE = 400
CRASHES = times(4)
Producer = Callable[[Plant], Future[None]]


@pytest.fixture
def kept_server() -> Iterator[Server]:
    """A server that writes each change to its disk before it answers."""
    options = ("--appendonly", "yes", "--appendfsync", "always")
    with Server(engine(DEFAULT), *options) as server:
        yield server


@pytest.fixture
def producer() -> Iterator[Producer]:
    """Admits jobs, a few at a time, beside what the test does."""
    with ThreadPoolExecutor(1) as pool:

        def produce(plant: Plant) -> None:
            for _ in range(SHARE // 20):
                plant.admit_short(20)

        yield lambda plant: pool.submit(produce, plant)


@pytest.mark.part(DEFAULT)
def test_a_server_killed_under_load_knows_every_job_when_it_is_started_again(
    kept_server: Server, chance: random.Random, producer: Producer
) -> None:
    with Plant(kept_server, chance) as plant:
        for _ in range(2):
            plant.hire(*WORDS).ready()

        for _ in range(CRASHES):
            point = plant.ended() + chance.randrange(SHARE)
            sent = producer(plant)
            plant.wait_for_ends(point)
            kept_server.kill()
            kept_server.start()
            sent.result()

        plant.finish()
        plant.check_books()
        assert len(plant.receipts()) == len(plant.jobs) == CRASHES * SHARE + 1


@pytest.mark.part(DEFAULT)
def test_a_server_frozen_beyond_the_leases_settles_each_job_once_when_it_goes_on(
    fresh_server: Server, chance: random.Random
) -> None:
    with Plant(fresh_server, chance) as plant:
        plant.url += "&socket_timeout=1"
        for _ in range(2):
            plant.hire(*WORDS).ready()
        long = plant.admit("work", 3.0, count=4)
        plant.admit_short(SHARE)
        eventually(lambda: {one.job for one in plant.journal("start")} >= set(long))

        fresh_server.freeze()
        eventually(lambda: {one.job for one in plant.journal("lost")} == set(long))
        fresh_server.thaw()

        plant.finish()
        plant.check_books()
        assert len(plant.receipts()) == len(plant.jobs)


def test_jobs_that_a_replica_knows_are_settled_once_by_the_new_master(
    sentinel: Sentinel, chance: random.Random
) -> None:
    with Plant(sentinel, chance) as plant:
        for _ in range(2):
            plant.hire(*WORDS).ready()
        for _ in range(5):
            plant.admit_short(SHARE)
        assert sentinel.master.ask("WAIT", 1, 5000) == 1
        plant.wait_for_ends(plant.ended() + chance.randrange(SHARE))

        sentinel.fail_over()

        plant.finish()
        plant.check_books(history_was_lost=True)
        assert len(plant.receipts()) == len(plant.jobs)
