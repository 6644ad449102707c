from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.states import Requeued
from tests.protocol.lanes import GROUP, books, buried_in_lane
from tests.protocol.scene import Scene, new_id


def test_many_are_judged_each_for_itself(scene: Scene) -> None:
    dead, living, laned = scene.dead(), scene.enqueue(), buried_in_lane(scene)
    broken = new_id()
    scene.client.set(scene.keys.row(broken), "x")
    scene.client.zadd(scene.keys.dead, {broken: 0})

    verdicts = scene.queue.requeue_many([dead, living, new_id(), laned, broken])

    assert verdicts == [
        Requeued.REQUEUED,
        Requeued.NOT_DEAD,
        Requeued.GONE,
        Requeued.REQUEUED,
        Requeued.NOT_DEAD,
    ]
    assert scene.members("dead") == [broken]
    assert books(scene).waiting == (laned,)


def test_many_sent_again_hear_the_same_and_change_nothing(scene: Scene) -> None:
    call = calls.requeue_many(scene.keys, [scene.dead(), scene.dead()], "op-1")
    first = scene.run(call)
    before = scene.snapshot()

    assert scene.run(call) == first == [Requeued.REQUEUED] * 2
    assert scene.snapshot() == before


def test_a_lane_that_cannot_be_read_keeps_its_dead_and_stops_no_other(scene: Scene) -> None:
    laned, flat = buried_in_lane(scene), scene.dead()
    scene.client.set(scene.key(f"g:{GROUP}:pending"), "x")

    verdicts = scene.queue.requeue_many([laned, flat])

    assert verdicts == [Requeued.NOT_DEAD, Requeued.REQUEUED]
    assert scene.members("dead") == [laned]


@pytest.mark.parametrize("count", [0, 501])
def test_a_call_for_none_or_for_too_many_is_refused(scene: Scene, count: int) -> None:
    with pytest.raises(InvalidInput, match=f"requeue 1 to 500 jobs in one call; got {count}"):
        calls.requeue_many(scene.keys, [new_id()] * count, "op")
