from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidLane, WrongType
from tests.foreign.lanes import lane_pause
from tests.protocol.lanes import GROUP, Books, books, turn, waits
from tests.protocol.scene import Scene


def test_a_parked_lane_is_served_again_and_a_worker_is_woken(scene: Scene) -> None:
    scene.lanes.pause(GROUP)
    (job_id,) = waits(scene)

    assert scene.lanes.resume(GROUP) is True

    assert books(scene) == Books((job_id,), 0, True)
    assert scene.wakes() == 1
    assert [held.job_id for held in turn(scene)] == [job_id]


def test_a_lane_that_another_program_parked_is_served_again(scene: Scene) -> None:
    waits(scene)
    lane_pause(scene.client, scene.name, GROUP)

    assert scene.lanes.resume(GROUP) is True
    assert len(turn(scene)) == 1


def test_a_second_resume_changes_nothing(scene: Scene) -> None:
    waits(scene)
    before = scene.snapshot()

    assert scene.lanes.resume(GROUP) is False

    assert scene.snapshot() == before


def test_an_empty_lane_stays_out_of_the_ring(scene: Scene) -> None:
    scene.lanes.pause(GROUP)

    assert scene.lanes.resume(GROUP) is True

    assert scene.snapshot() == {}


def test_a_lane_at_its_ceiling_stays_out_of_the_ring(scene: Scene) -> None:
    scene.lanes.limit(GROUP, 1)
    _, waiting = waits(scene, count=2)
    turn(scene)
    scene.lanes.pause(GROUP)

    scene.lanes.resume(GROUP)

    assert books(scene) == Books((waiting,), 1, False)


def test_books_of_another_type_refuse_with_nothing_written(scene: Scene) -> None:
    scene.lanes.pause(GROUP)
    scene.client.set(scene.key("gactive"), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.lanes.resume(GROUP)

    assert scene.snapshot() == before


def test_a_name_that_is_none_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidLane, match="a lane is named by a branded id"):
        scene.lanes.resume("shop")
