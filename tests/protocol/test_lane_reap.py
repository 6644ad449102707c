from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, InvalidLane, WrongType
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.replies import LaneReap
from tests.protocol.lanes import GROUP, OTHER, Books, books, turn, waits
from tests.protocol.scene import Scene, new_id


def lapsed(scene: Scene, lane: str, count: int = 1) -> list[JobId]:
    """Jobs of a lane whose leases are over; nothing else may wait in lanes."""
    waits(scene, lane, count)
    held = [one.job_id for one in turn(scene, count)]
    scene.lapse(*held)
    return held


def test_only_the_named_lane_gets_its_lapsed_jobs_back(scene: Scene) -> None:
    other, mine = lapsed(scene, OTHER), lapsed(scene, GROUP)
    flat = scene.held().job_id
    scene.lapse(flat)

    assert scene.lanes.reap(GROUP) == 1

    assert books(scene) == Books(tuple(mine), 0, True)
    assert books(scene, OTHER) == Books((), 1, False)
    assert scene.places(mine[0]) == [f"g:{GROUP}:pending"]
    assert scene.members("active") == sorted([flat, *other])
    assert scene.fields(mine[0], "state", "attempts", "lapses") == ["pending", "1", "1"]


def test_a_lease_that_runs_is_left_alone(scene: Scene) -> None:
    waits(scene)
    turn(scene)
    before = scene.snapshot()

    assert scene.lanes.reap(GROUP) == 0

    assert scene.snapshot() == before


def test_lapses_of_other_lanes_do_not_hide_those_of_the_named_one(scene: Scene) -> None:
    lapsed(scene, OTHER, 250)
    mine = lapsed(scene, GROUP, 120)
    scene.client.zadd(scene.keys.active, dict.fromkeys(mine, 2))

    assert scene.lanes.reap(GROUP) == 120

    assert books(scene) == Books(tuple(sorted(mine)), 0, True)
    assert books(scene, OTHER).running == 250


def test_a_step_tells_how_many_it_moved_and_how_many_it_saw(scene: Scene) -> None:
    first, second = lapsed(scene, OTHER), lapsed(scene, GROUP)
    scene.client.zadd(scene.keys.active, {first[0]: 1, second[0]: 2})

    assert scene.run(calls.lane_reap(scene.keys, GROUP, 1)) == LaneReap(0, 1)
    assert scene.run(calls.lane_reap(scene.keys, GROUP, 1, 1)) == LaneReap(1, 1)
    assert scene.run(calls.lane_reap(scene.keys, GROUP, 5, 1)) == LaneReap(0, 0)


def test_a_parked_lane_gets_its_job_back_and_stays_out_of_the_ring(scene: Scene) -> None:
    mine = lapsed(scene, GROUP)
    scene.lanes.pause(GROUP)

    assert scene.lanes.reap(GROUP) == 1

    assert books(scene) == Books(tuple(mine), 0, False)


def test_ghosts_and_rows_that_cannot_be_read_are_left_to_the_reap_of_the_queue(
    scene: Scene,
) -> None:
    text = new_id()
    scene.client.set(scene.keys.row(text), "x")
    scene.client.zadd(scene.keys.active, {text: 1, new_id(): 1})
    before = scene.snapshot()

    assert scene.lanes.reap(GROUP) == 0

    assert scene.snapshot() == before


def test_a_broken_row_of_the_lane_is_set_aside(scene: Scene) -> None:
    bad, good = lapsed(scene, GROUP, 2)
    scene.client.hdel(scene.keys.row(bad), "attempts")

    assert scene.lanes.reap(GROUP) == 1

    assert scene.places(good) == [f"g:{GROUP}:pending"]
    assert scene.places(bad) == ["dead"]


@pytest.mark.parametrize("kind", ["active", "pending", "dead", "gactive", f"g:{GROUP}:pending"])
def test_a_key_of_another_type_refuses_with_nothing_written(scene: Scene, kind: str) -> None:
    lapsed(scene, GROUP)
    scene.client.delete(scene.key(kind))
    scene.client.set(scene.key(kind), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.lanes.reap(GROUP)

    assert scene.snapshot() == before


@pytest.mark.parametrize(("limit", "offset"), [(0, 0), (True, 0), (1, -1), (1, "0")])
def test_a_wrong_number_is_refused_before_any_wire(scene: Scene, limit: int, offset: int) -> None:
    with pytest.raises(InvalidInput, match="is a whole number from"):
        calls.lane_reap(scene.keys, GROUP, limit, offset)


def test_a_name_that_is_none_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidLane, match="a lane is named by a branded id"):
        scene.lanes.reap("shop")
