from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidInput, InvalidLane, WrongType
from tests.foreign.lanes import lane_claim
from tests.protocol.lanes import GROUP, Books, books, turn, waits
from tests.protocol.scene import Scene


def test_a_ceiling_holds_jobs_back_and_each_end_lets_one_in(scene: Scene) -> None:
    jobs = waits(scene, count=3)
    scene.lanes.limit(GROUP, 1)

    (held,) = turn(scene, 3)
    assert turn(scene) == []

    scene.queue.complete(held)
    assert [one.job_id for one in turn(scene, 3)] == jobs[1:2]


def test_a_ceiling_below_what_runs_takes_the_lane_out_and_stops_nothing(scene: Scene) -> None:
    jobs = waits(scene, count=4)
    held = turn(scene, 3)

    scene.lanes.limit(GROUP, 2)
    assert books(scene) == Books(tuple(jobs[3:]), 3, False)

    scene.queue.complete(held[0])
    assert not books(scene).ringed
    scene.queue.complete(held[1])
    assert books(scene) == Books(tuple(jobs[3:]), 1, True)


@pytest.mark.parametrize("most", [2, None])
def test_a_ceiling_that_is_raised_or_lifted_puts_the_lane_back_and_wakes(
    scene: Scene, most: int | None
) -> None:
    scene.lanes.limit(GROUP, 1)
    _, waiting = waits(scene, count=2)
    turn(scene)
    scene.client.delete(scene.keys.wake)

    scene.lanes.limit(GROUP, most)

    assert books(scene) == Books((waiting,), 1, True)
    assert scene.wakes() == 1
    assert scene.client.hexists(scene.keys.glimit, GROUP) is (most is not None)


def test_a_parked_lane_stays_parked(scene: Scene) -> None:
    scene.lanes.pause(GROUP)
    (job_id,) = waits(scene)

    scene.lanes.limit(GROUP, 5)

    assert books(scene) == Books((job_id,), 0, False)


def test_another_program_keeps_our_ceiling(scene: Scene) -> None:
    waits(scene, count=2)
    scene.lanes.limit(GROUP, 1)

    assert lane_claim(scene.client, scene.name) is not None
    assert lane_claim(scene.client, scene.name) is None


def test_said_twice_is_said_once(scene: Scene) -> None:
    waits(scene)
    scene.lanes.limit(GROUP, 1)
    before = scene.snapshot()

    scene.lanes.limit(GROUP, 1)

    assert scene.snapshot() == before


@pytest.mark.parametrize("kind", ["glimit", "gactive", "ring", "paused", f"g:{GROUP}:pending"])
def test_books_of_another_type_refuse_with_nothing_written(scene: Scene, kind: str) -> None:
    scene.client.set(scene.key(kind), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.lanes.limit(GROUP, 1)

    assert scene.snapshot() == before


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "2"])
def test_a_ceiling_that_is_none_is_refused_before_any_wire(scene: Scene, most: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        scene.lanes.limit(GROUP, most)

    assert str(refused.value) == (
        f"a lane's ceiling is a whole number from 1 to 9007199254740991; got {most!r}"
    )


def test_a_name_that_is_none_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidLane, match="a lane is named by a branded id"):
        scene.lanes.limit("shop", 1)
