from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidInput, WrongType
from tests.protocol.lanes import GROUP, OTHER, Books, books, waits
from tests.protocol.scene import LONG, Scene


def test_a_turn_gives_as_many_jobs_as_the_lane_weighs(scene: Scene) -> None:
    mine, other = waits(scene, count=8), waits(scene, OTHER, count=4)
    scene.lanes.weight(GROUP, 3)

    turns = [[held.job_id for held in scene.lanes.claim_weighted(LONG)] for _ in range(4)]

    assert turns == [mine[:3], other[:1], mine[3:6], other[1:2]]
    assert books(scene) == Books(tuple(mine[6:]), 6, True)


def test_the_members_of_a_turn_share_one_deadline_and_one_label(scene: Scene) -> None:
    waits(scene, count=3)
    scene.lanes.weight(GROUP, 3)

    held = scene.lanes.claim_weighted(LONG, label="w1")

    assert len({scene.score("active", one.job_id) for one in held}) == 1
    assert {scene.row(one.job_id)["worker"] for one in held} == {"1 w1"}
    assert {one.lane for one in held} == {GROUP}


def test_a_turn_is_never_longer_than_the_claimer_asks_for(scene: Scene) -> None:
    jobs = waits(scene, count=8)
    scene.lanes.weight(GROUP, 5)

    assert [held.job_id for held in scene.lanes.claim_weighted(LONG, 2)] == jobs[:2]


def test_a_turn_never_goes_over_the_ceiling(scene: Scene) -> None:
    jobs = waits(scene, count=8)
    scene.lanes.weight(GROUP, 5)
    scene.lanes.limit(GROUP, 2)

    assert [held.job_id for held in scene.lanes.claim_weighted(LONG)] == jobs[:2]
    assert scene.lanes.claim_weighted(LONG) == []


@pytest.mark.parametrize("weight", ["x", "0", "-3", "1.5", ""])
def test_a_weight_that_is_no_whole_number_above_zero_counts_as_one(
    scene: Scene, weight: str
) -> None:
    waits(scene, count=3)
    scene.client.hset(scene.keys.gweight, GROUP, weight)

    assert len(scene.lanes.claim_weighted(LONG)) == 1


def test_weights_of_another_type_refuse_with_nothing_written(scene: Scene) -> None:
    waits(scene)
    scene.client.lpush(scene.keys.ring, OTHER)
    scene.client.set(scene.keys.gweight, "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.lanes.claim_weighted(LONG)

    assert scene.snapshot() == before


def test_a_paused_queue_gives_nothing(scene: Scene) -> None:
    waits(scene)
    scene.queue.pause()

    assert scene.lanes.claim_weighted(LONG) == []


@pytest.mark.parametrize("size", [0, 1001, True])
def test_a_wrong_size_is_refused_before_any_wire(scene: Scene, size: int) -> None:
    with pytest.raises(InvalidInput, match="a batch size is a whole number from 1 to 1000"):
        scene.lanes.claim_weighted(LONG, size)
