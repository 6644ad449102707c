from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidJobId, InvalidLane, WrongType
from echomq_app.protocol.states import Completion, Reassigned
from tests.protocol.lanes import GROUP, OTHER, Books, books, buried_in_lane, known, turn, waits
from tests.protocol.scene import LONG, Scene, new_id


def test_a_job_moves_with_its_name_on_it_and_is_charged_to_its_new_lane(scene: Scene) -> None:
    job_id, stays = waits(scene, count=2)

    assert scene.lanes.reassign(job_id, OTHER) is Reassigned.MOVED

    assert books(scene) == Books((stays,), 0, True)
    assert books(scene, OTHER) == Books((job_id,), 0, True)
    assert scene.fields(job_id, "group", "state") == [OTHER, "pending"]
    assert [held.job_id for _ in range(2) for held in turn(scene)] == [stays, job_id]
    assert books(scene, OTHER) == Books((), 1, False)


def test_a_lane_that_lost_its_last_job_leaves_the_ring_and_is_forgotten(scene: Scene) -> None:
    (job_id,) = waits(scene)

    scene.lanes.reassign(job_id, OTHER)

    assert books(scene) == Books((), 0, False)
    assert known(scene) == {OTHER}


def test_a_parked_or_full_lane_takes_the_job_and_stays_out_of_the_ring(scene: Scene) -> None:
    (job_id,) = waits(scene)
    scene.lanes.pause(OTHER)

    assert scene.lanes.reassign(job_id, OTHER) is Reassigned.MOVED

    assert books(scene, OTHER) == Books((job_id,), 0, False)


def test_a_job_in_that_lane_already_is_left_alone(scene: Scene) -> None:
    (job_id,) = waits(scene)
    before = scene.snapshot()

    assert scene.lanes.reassign(job_id, GROUP) is Reassigned.NOOP

    assert scene.snapshot() == before


def test_a_job_that_runs_is_parked_or_is_dead_stays_in_its_lane(scene: Scene) -> None:
    buried = buried_in_lane(scene)
    waits(scene, count=2)
    running, parked = turn(scene, 2)
    scene.queue.delay(parked, LONG)
    before = scene.snapshot()

    for job_id in (running.job_id, parked.job_id, buried):
        assert scene.lanes.reassign(job_id, OTHER) is Reassigned.NOT_PENDING

    assert scene.snapshot() == before


def test_a_job_without_a_lane_or_without_a_row_is_not_found(scene: Scene) -> None:
    flat = scene.enqueue()
    before = scene.snapshot()

    for job_id in (flat, new_id()):
        assert scene.lanes.reassign(job_id, OTHER) is Reassigned.NOT_FOUND

    assert scene.snapshot() == before


def test_a_holder_whose_lease_lapsed_still_settles_after_the_move(scene: Scene) -> None:
    waits(scene)
    (held,) = turn(scene, label="w1")
    scene.lapse(held.job_id)
    scene.queue.reap()
    scene.lanes.reassign(held.job_id, OTHER)

    assert scene.queue.complete(held) is Completion.COMPLETED

    assert books(scene, OTHER) == Books((), 0, False)
    assert known(scene) == set()


@pytest.mark.parametrize("lane", [GROUP, OTHER])
def test_a_lane_of_another_type_refuses_with_nothing_written(scene: Scene, lane: str) -> None:
    (job_id,) = waits(scene)
    scene.client.delete(scene.keys.lane(lane))
    scene.client.set(scene.keys.lane(lane), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.lanes.reassign(job_id, OTHER)

    assert scene.snapshot() == before


def test_a_wrong_id_or_lane_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidJobId):
        scene.lanes.reassign("nope", OTHER)
    with pytest.raises(InvalidLane):
        scene.lanes.reassign(new_id(), "shop")
