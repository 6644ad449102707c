from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput
from tests.foreign.lanes import lane_limit
from tests.protocol.lanes import GROUP, OTHER, Books, books, held_in_lane, laned
from tests.protocol.scene import Scene, new_id


def scheduled(scene: Scene, at_ms: int = 1) -> str:
    """A parked job, due long ago unless told otherwise."""
    job_id = new_id()
    scene.run(calls.schedule_at(scene.keys, job_id, b"w", at_ms))
    return job_id


def parked_in_lane(scene: Scene, group: str = GROUP) -> str:
    """A due job that belongs to a lane."""
    held = held_in_lane(scene, group)
    scene.run(calls.delay_at(scene.keys, held.job_id, held.token, 1))
    return held.job_id


def test_what_is_due_moves_and_what_is_not_stays(scene: Scene) -> None:
    due, later = scheduled(scene), scheduled(scene, scene.server_ms() + 60_000)

    assert scene.queue.promote() == 1

    assert (scene.places(due), scene.places(later)) == (["pending"], ["schedule"])
    assert scene.row(due) == {"state": "pending", "attempts": "0", "payload": "w"}
    assert scene.score("pending", due) == 0


def test_the_last_error_stays_on_the_row(scene: Scene) -> None:
    held = scene.held()
    scene.run(calls.retry(scene.keys, held.job_id, 1, delay_ms=0, max_attempts=3, error="boom"))
    scene.fall_due(held.job_id)

    scene.queue.promote()

    assert scene.fields(held.job_id, "state", "attempts", "last_error") == ["pending", "1", "boom"]


def test_a_call_moves_no_more_than_its_batch_the_earliest_first(scene: Scene) -> None:
    jobs = [scheduled(scene, at_ms) for at_ms in (3, 1, 2)]

    assert scene.run(calls.promote(scene.keys, 2)) == 2

    assert scene.members("schedule") == [jobs[0]]


def test_more_than_a_batch_takes_several_calls(scene: Scene) -> None:
    for _ in range(250):
        scheduled(scene)

    assert scene.queue.promote(most=10_000) == 250
    assert scene.queue.promote() == 0


def test_a_ghost_is_dropped_uncounted_and_gets_no_skeleton(scene: Scene) -> None:
    scene.client.zadd(scene.keys.schedule, {new_id(): 1})

    assert scene.queue.promote() == 0

    assert scene.snapshot() == {}


@pytest.mark.parametrize("kind", ["no attempts", "no hash"])
def test_a_broken_row_goes_to_dead_and_stops_nothing(scene: Scene, kind: str) -> None:
    bad = new_id()
    if kind == "no hash":
        scene.client.set(scene.keys.row(bad), "x")
    else:
        scene.client.hset(scene.keys.row(bad), "state", "scheduled")
    scene.client.zadd(scene.keys.schedule, {bad: 1})
    good = scheduled(scene)

    assert scene.queue.promote() == 1

    assert scene.members("pending") == [good]
    assert scene.members("dead") == [bad]
    if kind == "no attempts":
        assert scene.fields(bad, "state", "last_error") == [
            "dead",
            "the row of this job cannot be read: it was set aside when it fell due",
        ]


def test_promoted_jobs_wake_as_many_workers_up_to_64(scene: Scene) -> None:
    for _ in range(3):
        scheduled(scene)
    scene.queue.promote()
    assert scene.wakes() == 3

    for _ in range(90):
        scheduled(scene)
    scene.queue.promote()
    assert scene.wakes() == 64


def test_a_job_of_a_lane_goes_to_its_lane_and_the_lane_into_the_ring(scene: Scene) -> None:
    job_id = parked_in_lane(scene)

    assert scene.queue.promote() == 1

    assert books(scene) == Books((job_id,), 0, True)
    assert scene.members("pending") == []
    assert scene.fields(job_id, "state") == ["pending"]


def test_a_lane_at_its_ceiling_takes_the_job_and_stays_out_of_the_ring(scene: Scene) -> None:
    job_id = parked_in_lane(scene)
    held_in_lane(scene)
    lane_limit(scene.client, scene.name, GROUP, 1)

    scene.queue.promote()

    assert books(scene) == Books((job_id,), 1, False)


def test_a_parked_lane_takes_the_job_and_stays_out_of_the_ring(scene: Scene) -> None:
    job_id = parked_in_lane(scene)
    scene.client.sadd(scene.key("paused"), GROUP)

    scene.queue.promote()

    assert books(scene) == Books((job_id,), 0, False)


def test_a_lane_that_cannot_be_read_sets_its_own_jobs_aside_alone(scene: Scene) -> None:
    bad, good = parked_in_lane(scene), parked_in_lane(scene, OTHER)
    flat = scheduled(scene)
    scene.client.set(scene.key(f"g:{GROUP}:pending"), "x")

    assert scene.queue.promote() == 2

    assert scene.members("dead") == [bad]
    assert scene.fields(bad, "last_error") == [
        "the lane of this job cannot be read: it was set aside when it fell due"
    ]
    assert books(scene, OTHER).waiting == (good,)
    assert scene.members("pending") == [flat]


@pytest.mark.parametrize("batch", [0, -1, "10"])
def test_a_batch_below_one_is_refused_before_any_wire(scene: Scene, batch: int) -> None:
    with pytest.raises(InvalidInput, match=r"a batch is a whole number from 1 .*; got "):
        calls.promote(scene.keys, batch)


def test_waiting_work_of_a_lane_is_counted(scene: Scene) -> None:
    parked_in_lane(scene, OTHER)
    laned(scene)
    scene.queue.promote()

    assert scene.queue.facts().counts.laned == 2
