from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput
from tests.foreign.lanes import lane_limit
from tests.protocol.lanes import GROUP, OTHER, Books, books, held_in_lane, laned
from tests.protocol.scene import LONG, Scene, new_id


def test_a_lapsed_job_waits_again_with_its_token_kept_and_the_lapse_counted(
    scene: Scene,
) -> None:
    held = scene.held(label="w1")
    scene.lapse(held.job_id)

    assert scene.queue.reap() == 1

    assert scene.places(held.job_id) == ["pending"]
    assert scene.fields(held.job_id, "state", "attempts", "lapses") == ["pending", "1", "1"]
    assert scene.fields(held.job_id, "settled", "excused") == [None, None]
    assert scene.claim().token == 2


def test_a_lease_that_runs_is_left_alone(scene: Scene) -> None:
    held = scene.held()
    before = scene.snapshot()

    assert scene.queue.reap() == 0

    assert scene.snapshot() == before
    assert scene.places(held.job_id) == ["active"]


def test_a_call_reaps_no_more_than_its_limit_the_longest_lapsed_first(scene: Scene) -> None:
    jobs = [scene.held().job_id for _ in range(3)]
    scene.client.zadd(scene.keys.active, {jobs[0]: 3, jobs[1]: 1, jobs[2]: 2})

    assert scene.run(calls.reap(scene.keys, 2)) == 2

    assert scene.members("active") == [jobs[0]]


def test_more_than_a_call_s_limit_takes_several_calls(scene: Scene) -> None:
    for _ in range(250):
        scene.enqueue()
    held = scene.queue.claim_many(LONG, 250)
    scene.client.zadd(scene.keys.active, {one.job_id: 1 for one in held})

    assert scene.queue.reap() == 250


def test_a_ghost_is_dropped_uncounted_and_gets_no_skeleton(scene: Scene) -> None:
    scene.client.zadd(scene.keys.active, {new_id(): 1})

    assert scene.queue.reap() == 0

    assert scene.snapshot() == {}


@pytest.mark.parametrize("kind", ["no attempts", "no hash"])
def test_a_broken_row_goes_to_dead_and_stops_nothing(scene: Scene, kind: str) -> None:
    bad = new_id()
    if kind == "no hash":
        scene.client.set(scene.keys.row(bad), "x")
    else:
        scene.client.hset(scene.keys.row(bad), "state", "active")
    scene.client.zadd(scene.keys.active, {bad: 1})
    good = scene.held()
    scene.lapse(good.job_id)

    assert scene.queue.reap() == 1

    assert scene.members("pending") == [good.job_id]
    assert scene.members("dead") == [bad]
    if kind == "no attempts":
        assert scene.fields(bad, "state", "last_error") == [
            "dead",
            "the row of this job cannot be read: it was set aside when its lease lapsed",
        ]


def test_a_count_of_lapses_that_is_no_number_does_not_stop_the_reap(scene: Scene) -> None:
    held = scene.held()
    scene.client.hset(scene.keys.row(held.job_id), "lapses", "x")
    scene.lapse(held.job_id)

    assert scene.queue.reap() == 1

    assert scene.places(held.job_id) == ["pending"]


def test_reaped_jobs_wake_as_many_workers_up_to_64(scene: Scene) -> None:
    held = [scene.held() for _ in range(3)]
    scene.client.delete(scene.keys.wake)
    scene.lapse(*(one.job_id for one in held))

    scene.queue.reap()

    assert scene.wakes() == 3


def test_a_job_of_a_lane_goes_back_to_its_lane_and_frees_its_slot(scene: Scene) -> None:
    lane_limit(scene.client, scene.name, GROUP, 1)
    held = held_in_lane(scene)
    waiting = laned(scene)
    assert books(scene) == Books((waiting,), 1, False)
    scene.lapse(held.job_id)

    assert scene.queue.reap() == 1

    assert books(scene) == Books((held.job_id, waiting), 0, True)
    assert scene.members("pending") == []


def test_lapsed_jobs_of_several_lanes_each_find_their_own(scene: Scene) -> None:
    one, two = held_in_lane(scene), held_in_lane(scene, OTHER)
    scene.lapse(one.job_id, two.job_id)

    scene.queue.reap()

    assert books(scene) == Books((one.job_id,), 0, True)
    assert books(scene, OTHER) == Books((two.job_id,), 0, True)


def test_a_parked_lane_takes_its_job_back_and_stays_out_of_the_ring(scene: Scene) -> None:
    held = held_in_lane(scene)
    scene.client.sadd(scene.key("paused"), GROUP)
    scene.lapse(held.job_id)

    scene.queue.reap()

    assert books(scene) == Books((held.job_id,), 0, False)


def test_a_lane_that_cannot_be_read_sets_its_own_jobs_aside_alone(scene: Scene) -> None:
    bad, good = held_in_lane(scene), held_in_lane(scene, OTHER)
    scene.client.set(scene.key(f"g:{GROUP}:pending"), "x")
    scene.lapse(bad.job_id, good.job_id)

    assert scene.queue.reap() == 1

    assert scene.members("dead") == [bad.job_id]
    assert scene.fields(bad.job_id, "last_error") == [
        "the lane of this job cannot be read: it was set aside when its lease lapsed"
    ]
    assert books(scene, OTHER).waiting == (good.job_id,)


def test_a_running_count_that_is_no_number_is_mended_by_the_next_settle(scene: Scene) -> None:
    held = held_in_lane(scene)
    scene.client.hset(scene.key("gactive"), GROUP, "x")
    scene.lapse(held.job_id)

    assert scene.queue.reap() == 1

    assert books(scene) == Books((held.job_id,), 0, True)


@pytest.mark.parametrize("limit", [0, -1, "10"])
def test_a_limit_below_one_is_refused_before_any_wire(scene: Scene, limit: int) -> None:
    with pytest.raises(InvalidInput, match=r"a limit is a whole number from 1 .*; got "):
        calls.reap(scene.keys, limit)
