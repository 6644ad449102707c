"""Scenarios of lanes: how they are filled, steered and emptied."""

from __future__ import annotations

from echomq_app.protocol.states import Reassigned
from tests.protocol.lanes import GROUP, OTHER, Books, books, turn, waits
from tests.protocol.scene import Scene


def test_12_rotate(scene: Scene) -> None:
    waits(scene, count=2)
    waits(scene, OTHER, count=2)

    served = []
    for _ in range(4):
        (held,) = turn(scene)
        served.append(held.lane)
        scene.queue.complete(held)

    assert served == [GROUP, OTHER, GROUP, OTHER]
    assert books(scene) == books(scene, OTHER) == Books((), 0, False)


def test_13_pause(scene: Scene) -> None:
    waiting = waits(scene, count=2)

    scene.lanes.pause(GROUP)
    assert turn(scene) == []
    assert books(scene) == Books(tuple(waiting), 0, False)

    scene.lanes.resume(GROUP)
    assert [held.job_id for held in turn(scene)] == waiting[:1]


def test_14_limit(scene: Scene) -> None:
    scene.lanes.limit(GROUP, 1)
    _, waiting = waits(scene, count=2)
    (held,) = turn(scene)
    assert turn(scene) == []
    assert books(scene) == Books((waiting,), 1, False)

    scene.queue.complete(held)

    assert [one.job_id for one in turn(scene)] == [waiting]


def test_24_lane_depth(scene: Scene) -> None:
    waits(scene, count=3)
    waits(scene, OTHER)

    assert scene.lanes.depths([GROUP, OTHER]) == {GROUP: 3, OTHER: 1}

    turn(scene)
    assert scene.lanes.depth(GROUP) == 2
    assert scene.lanes.depth(OTHER) == 1


def test_42_stalled_group(scene: Scene) -> None:
    waits(scene)
    (held,) = turn(scene)
    scene.lapse(held.job_id)

    assert scene.queue.reap() == 1

    assert books(scene) == Books((held.job_id,), 0, True)
    assert scene.members("pending") == []


def test_44_reassign(scene: Scene) -> None:
    moved, stays = waits(scene, count=2)

    assert scene.lanes.reassign(moved, OTHER) is Reassigned.MOVED
    assert scene.fields(moved, "group") == [OTHER]
    assert scene.places(moved) == [f"g:{OTHER}:pending"]

    assert {held.job_id for _ in range(2) for held in turn(scene)} == {moved, stays}
    assert books(scene) == books(scene, OTHER) == Books((), 1, False)


def test_45_lane_drain(scene: Scene) -> None:
    waits(scene, count=3)
    (running,) = turn(scene)
    first, second = books(scene).waiting
    scene.queue.add_log(first, "a line")
    (other,) = waits(scene, OTHER)

    assert scene.lanes.drain(GROUP) == 2

    assert books(scene) == Books((), 1, False)
    assert books(scene, OTHER) == Books((other,), 0, True)
    for job_id in (first, second):
        assert scene.client.exists(scene.keys.row(job_id)) == 0
        assert scene.client.exists(scene.keys.logs(job_id)) == 0
    assert scene.places(running.job_id) == ["active"]


def test_46_reap_group(scene: Scene) -> None:
    waits(scene)
    waits(scene, OTHER)
    mine, sibling = (held.job_id for _ in range(2) for held in turn(scene))
    scene.lapse(mine, sibling)

    assert scene.lanes.reap(GROUP) == 1

    assert books(scene) == Books((mine,), 0, True)
    assert scene.places(sibling) == ["active"]
    assert books(scene, OTHER) == Books((), 1, False)
