from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidLane, WrongType
from tests.protocol.lanes import GROUP, OTHER, turn, waits
from tests.protocol.scene import Scene


def test_each_lane_has_a_depth_of_its_own_and_what_runs_is_not_in_it(scene: Scene) -> None:
    waits(scene, count=3)
    waits(scene, OTHER)
    turn(scene)

    assert scene.lanes.depth(GROUP) == 2
    assert scene.lanes.depths([GROUP, OTHER, "PRT00000000000"]) == {
        GROUP: 2,
        OTHER: 1,
        "PRT00000000000": 0,
    }
    assert scene.queue.facts().counts.laned == 3


def test_the_depths_of_no_lane_are_none(scene: Scene) -> None:
    assert scene.lanes.depths([]) == {}


def test_a_lane_of_another_type_is_refused(scene: Scene) -> None:
    scene.client.set(scene.keys.lane(GROUP), "x")

    with pytest.raises(WrongType):
        scene.lanes.depth(GROUP)


def test_a_name_that_is_none_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidLane, match="a lane is named by a branded id"):
        scene.lanes.depth("shop")


def test_lanes_with_work_are_known_until_their_last_job_has_ended(scene: Scene) -> None:
    waits(scene, OTHER)
    waits(scene)
    assert scene.lanes.known() == [GROUP, OTHER]

    for _ in range(2):
        scene.queue.complete(turn(scene)[0])

    assert scene.lanes.known() == []
