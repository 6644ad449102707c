"""A worker's wall clock jumps: leases are the server's, and no job is lost or settled twice."""

from __future__ import annotations

from typing import cast

from tests.eventually import eventually
from tests.faults.plant import Plant

JOBS = 400
LEASE_MS = 2_000
SLACK_MS = 50


def _strayed(plant: Plant) -> list[tuple[bytes, float]]:
    """Leases that do not end about where the server's clock would have them end."""
    active = plant.client.zrange(plant.queue.keys.active, 0, -1, withscores=True)
    seconds, micros = plant.client.time()
    now_ms = seconds * 1000 + micros // 1000
    held = cast("list[tuple[bytes, float]]", active)
    return [one for one in held if abs(one[1] - now_ms) > LEASE_MS + SLACK_MS]


def test_workers_whose_wall_clock_jumps_by_a_day_hold_and_settle_as_others_do(plant: Plant) -> None:
    jumping = {"DJANGO_SETTINGS_MODULE": "tests.faults.works.jumping"}
    for environment in (jumping, jumping, {}):
        plant.hire("--concurrency", "4", "--lease", f"{LEASE_MS // 1000}s", **environment).ready()
    (long,) = plant.admit("work", 3 * LEASE_MS / 1000)
    plant.admit_short(JOBS)
    strayed: list[tuple[bytes, float]] = []

    def is_done() -> bool:
        strayed.extend(_strayed(plant))
        return plant.queue.job(long).receipt is not None

    eventually(is_done, within=60)
    assert strayed == []
    plant.finish()
    plant.check_books()
    assert len(plant.receipts()) == len(plant.jobs)
