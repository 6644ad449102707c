"""Connections are cut at random while real workers run: before, inside and instead of replies."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.faults.chance import times
from tests.faults.plant import Plant
from tests.servers.proxy import CuttingProxy
from tests.servers.traps import Predicate, Trap

JOBS = times(1_000)
CUTS = times(40)
ONE_IN = 10
WAYS: dict[str, Callable[[CuttingProxy, Predicate], Trap]] = {
    "before the request": lambda proxy, which: proxy.cut_before_request(which, CUTS),
    "before the reply": lambda proxy, which: proxy.cut_before_reply(which, CUTS),
    "in the reply": lambda proxy, which: proxy.cut_in_reply(which, CUTS),
}


def _now_and_then(chance: random.Random) -> Predicate:
    return lambda _: chance.randrange(ONE_IN) == 0


@pytest.mark.parametrize("way", WAYS)
def test_workers_whose_connections_are_cut_at_random_settle_every_job_once(
    plant: Plant, proxy: CuttingProxy, way: str
) -> None:
    plant.url = proxy.url
    for _ in range(2):
        plant.hire("--concurrency", "4", "--lease", "1s").ready()
    trap = WAYS[way](proxy, _now_and_then(random.Random(plant.chance.random())))

    for _ in range(5):
        plant.admit_short(JOBS // 5)
        plant.wait_until_empty()

    assert trap.fired > CUTS // 2
    plant.finish()
    plant.check_books()
    assert len(plant.receipts()) == len(plant.jobs)
