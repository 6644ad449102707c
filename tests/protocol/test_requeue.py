from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import Stale, WrongState
from echomq_app.protocol.states import Requeued, Retried
from tests.protocol.lanes import Books, books, buried_in_lane
from tests.protocol.scene import Scene, new_id


def test_a_requeued_job_waits_and_owes_nothing_to_its_past(scene: Scene) -> None:
    job_id = scene.dead()
    scene.client.hset(scene.keys.row(job_id), "lapses", "4")

    assert scene.queue.requeue(job_id) is Requeued.REQUEUED

    assert scene.places(job_id) == ["pending"]
    assert scene.fields(job_id, "state", "attempts", "excused", "last_error", "lapses") == [
        "pending",
        "1",
        "1",
        None,
        None,
    ]


def test_a_requeued_job_has_all_its_attempts_again(scene: Scene) -> None:
    job_id = scene.dead()
    scene.queue.requeue(job_id)
    verdicts = []

    for _ in range(3):
        held = scene.claim()
        verdicts.append(scene.queue.retry(held, delay=timedelta(), max_attempts=3, error="again"))
        scene.fall_due(job_id)
        scene.queue.promote()

    assert verdicts == [Retried.SCHEDULED, Retried.SCHEDULED, Retried.DEAD]
    assert scene.fields(job_id, "attempts") == ["4"]


def test_a_requeue_wakes_a_worker(scene: Scene) -> None:
    job_id = scene.dead()
    scene.client.delete(scene.keys.wake)

    scene.queue.requeue(job_id)

    assert scene.wakes() == 1


def test_a_job_that_is_not_dead_is_refused_untouched(scene: Scene) -> None:
    job_id = scene.enqueue()
    before = scene.snapshot()

    with pytest.raises(WrongState, match="EMQSTATE not dead: only a dead job can be requeued"):
        scene.queue.requeue(job_id)

    assert scene.snapshot() == before


def test_a_job_that_is_gone_is_gone(scene: Scene) -> None:
    assert scene.queue.requeue(new_id()) is Requeued.GONE
    assert scene.snapshot() == {}


def test_the_same_call_again_hears_that_it_has_happened(scene: Scene) -> None:
    call = calls.requeue(scene.keys, scene.dead(), "op-1")
    scene.run(call)
    before = scene.snapshot()

    with pytest.raises(Stale) as stale:
        scene.run(call)

    assert stale.value.reason == "parked"
    assert str(stale.value) == "EMQSTALE parked: this very requeue has happened already"
    assert scene.snapshot() == before


def test_another_call_on_a_requeued_job_hears_that_it_is_not_dead(scene: Scene) -> None:
    job_id = scene.dead()
    scene.run(calls.requeue(scene.keys, job_id, "op-1"))

    with pytest.raises(WrongState):
        scene.run(calls.requeue(scene.keys, job_id, "op-2"))


def test_an_outcome_of_an_earlier_life_goes_with_the_new_one(scene: Scene) -> None:
    job_id = scene.dead()
    scene.client.zadd(scene.keys.done, {job_id: 0})
    scene.client.zadd(scene.keys.expire, {job_id: 9e12})
    scene.client.set(scene.keys.result(job_id), "m 1 9 ")

    scene.queue.requeue(job_id)

    assert scene.members("done") == scene.members("expire") == []
    assert not scene.client.exists(scene.keys.result(job_id))


def test_a_job_of_a_lane_goes_back_to_its_lane_and_not_to_pending(scene: Scene) -> None:
    job_id = buried_in_lane(scene)

    scene.queue.requeue(job_id)

    assert books(scene) == Books((job_id,), 0, True)
    assert scene.members("pending") == scene.members("dead") == []


def test_a_job_with_a_receipt_of_its_own_end_can_be_requeued_only_while_dead(
    scene: Scene,
) -> None:
    held = scene.held()
    scene.queue.complete(held, Retention(mark="m", receipt_ms=60_000))

    assert scene.queue.requeue(held.job_id) is Requeued.GONE
