from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidLane, WrongType
from tests.foreign.lanes import lane_claim, lane_resume
from tests.protocol.lanes import GROUP, OTHER, Books, books, known, turn, waits
from tests.protocol.scene import Scene


def test_a_parked_lane_keeps_what_waits_and_others_go_on(scene: Scene) -> None:
    parked, other = waits(scene, count=2), waits(scene, OTHER)

    assert scene.lanes.pause(GROUP) is True

    assert books(scene) == Books(tuple(parked), 0, False)
    assert [held.job_id for held in turn(scene)] == other
    assert turn(scene) == []
    assert known(scene) == {GROUP, OTHER}


def test_a_second_pause_changes_nothing(scene: Scene) -> None:
    waits(scene)
    scene.lanes.pause(GROUP)
    before = scene.snapshot()

    assert scene.lanes.pause(GROUP) is False

    assert scene.snapshot() == before


def test_what_runs_goes_on_and_comes_back_to_the_parked_lane(scene: Scene) -> None:
    waits(scene)
    (held,) = turn(scene)
    scene.lanes.pause(GROUP)

    scene.queue.release(held)

    assert books(scene) == Books((held.job_id,), 0, False)


def test_another_program_keeps_the_pause_and_lifts_it(scene: Scene) -> None:
    (job_id,) = waits(scene)
    scene.lanes.pause(GROUP)
    assert lane_claim(scene.client, scene.name) is None

    lane_resume(scene.client, scene.name, GROUP)

    assert [held.job_id for held in turn(scene)] == [job_id]


@pytest.mark.parametrize("kind", ["paused", "ring"])
def test_a_key_of_another_type_refuses_with_nothing_written(scene: Scene, kind: str) -> None:
    scene.client.set(scene.key(kind), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.lanes.pause(GROUP)

    assert scene.snapshot() == before


def test_a_name_that_is_none_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidLane, match="a lane is named by a branded id"):
        scene.lanes.pause("shop")
