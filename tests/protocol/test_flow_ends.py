"""However a child's life ends, its parent is told: removed, set aside, buried by a claimer, come late."""

from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import WrongType
from echomq_app.protocol.states import Requeued, State
from echomq_app.service.flows import Flows
from echomq_app.service.records import Lease
from tests.protocol.flows import FAR, add, bury, complete, ends, job, left
from tests.protocol.scene import Scene


def test_the_removal_of_a_child_fails_its_parent(scene: Scene) -> None:
    child = job()
    flow = add(scene, child, job())

    assert scene.queue.remove(child.job_id)

    assert scene.places(flow.job_id) == ["dead"]
    assert ends(scene, flow.job_id, "failed") == {child.job_id: "it was removed"}


def test_the_removal_of_a_child_that_may_fail_lets_its_parent_go_on(scene: Scene) -> None:
    child = job(ignore=True)
    flow = add(scene, child)

    assert scene.queue.remove(child.job_id)

    assert scene.places(flow.job_id) == ["pending"]


def test_the_removal_of_a_child_elsewhere_goes_through_the_outbox(scene: Scene) -> None:
    far, child = Scene(scene.client, FAR), job(queue=FAR)
    flow = add(scene, child)

    assert far.queue.remove(child.job_id)
    Flows(scene.wire).carry(FAR)

    assert scene.places(flow.job_id) == ["dead"]


def test_the_removal_of_a_dead_child_is_no_second_death(scene: Scene) -> None:
    child = job(ignore=True)
    flow = add(scene, child, job(), job())
    bury(scene, scene.claim())

    scene.queue.remove(child.job_id)

    assert left(scene, flow.job_id) == 2
    assert ends(scene, flow.job_id, "unsuccessful") == {child.job_id: "boom"}


def test_a_removed_parent_leaves_no_books_and_is_written_to_no_more(scene: Scene) -> None:
    flow = add(scene, job(), job())
    complete(scene, scene.claim())

    assert scene.queue.remove(flow.job_id)
    complete(scene, scene.claim())

    assert scene.places(flow.job_id) == []
    assert [key for key in scene.snapshot() if flow.job_id in key] == []


def test_a_removed_parent_is_a_dead_child_of_its_own_parent(scene: Scene) -> None:
    middle = job(job())
    flow = add(scene, middle)

    scene.queue.remove(middle.job_id)

    assert scene.places(flow.job_id) == ["dead"]


@pytest.mark.parametrize("end", ["complete", "bury", "remove"])
def test_nothing_is_written_where_another_program_deleted_the_parent_s_row_alone(
    scene: Scene, end: str
) -> None:
    flow = add(scene, job(), job())
    complete(scene, scene.claim())
    held = scene.claim()
    scene.client.delete(scene.keys.row(flow.job_id))
    before = books(scene, flow.job_id)

    finish(scene, held, end)

    assert books(scene, flow.job_id) == before


def books(scene: Scene, parent: str) -> dict[str, object]:
    """The parent's row and what hangs on it, as far as they are there."""
    row = scene.keys.row(parent)
    return {key: value for key, value in scene.snapshot().items() if key.startswith(row)}


def break_payload(scene: Scene, job_id: str) -> None:
    scene.client.hdel(scene.keys.row(job_id), "payload")


@pytest.mark.parametrize("sweep", ["claim", "beat"])
def test_a_child_that_a_claim_sets_aside_fails_its_parent(scene: Scene, sweep: str) -> None:
    child = job()
    flow = add(scene, child)
    break_payload(scene, child.job_id)

    if sweep == "claim":
        assert scene.run(calls.claim_many(scene.keys, 1000, 1)) == []
    else:
        scene.run(calls.beat(scene.keys, batch=9, lease=1000, size=1, label="w"))

    assert scene.places(child.job_id) == scene.places(flow.job_id) == ["dead"]
    assert list(ends(scene, flow.job_id, "failed")) == [child.job_id]


@pytest.mark.parametrize("sweep", ["reap", "promote"])
def test_a_child_that_a_sweep_sets_aside_fails_its_parent(scene: Scene, sweep: str) -> None:
    child = job()
    flow = add(scene, child)
    held = scene.claim()
    if sweep == "reap":
        scene.lapse(child.job_id)
    else:
        scene.queue.delay(held, timedelta())
    scene.client.hdel(scene.keys.row(child.job_id), "attempts")

    assert getattr(scene.queue, sweep)() == 0

    assert scene.places(child.job_id) == scene.places(flow.job_id) == ["dead"]


def test_a_child_whose_workers_died_too_often_fails_its_parent(scene: Scene) -> None:
    flow = add(scene, job())
    held = scene.claim()

    scene.queue.retry(held, delay=timedelta(), max_attempts=0, error="its worker died 3 times")

    assert scene.places(flow.job_id) == ["dead"]


def test_a_child_that_lapsed_and_comes_late_releases_its_parent_once(scene: Scene) -> None:
    flow = add(scene, job(), job())
    late = scene.reaped(scene.claim())

    complete(scene, late)
    complete(scene, late)

    assert left(scene, flow.job_id) == 1


def test_a_child_that_is_done_and_admitted_again_does_not_count_twice(scene: Scene) -> None:
    child = job()
    flow = add(scene, child, job())
    scene.queue.complete(scene.claim())
    again = {"state": "pending", "attempts": 0, "payload": "c", "parent": flow.job_id}
    scene.client.hset(scene.keys.row(child.job_id), mapping=again)
    scene.client.zadd(scene.keys.pending, {child.job_id: 0})

    scene.queue.complete(scene.claim())

    assert left(scene, flow.job_id) == 1
    assert scene.queue.state(flow.job_id) is State.AWAITING_CHILDREN


def test_a_failed_parent_whose_child_is_requeued_and_completes_stays_in_one_set(
    scene: Scene,
) -> None:
    child = job()
    flow = add(scene, child)
    bury(scene, scene.claim())
    scene.queue.requeue(child.job_id)

    complete(scene, scene.claim(), b"after all")

    assert scene.places(flow.job_id) == ["dead"]
    assert left(scene, flow.job_id) == 0
    assert scene.queue.requeue(flow.job_id) is Requeued.REQUEUED
    assert scene.claim().job_id == flow.job_id
    assert ends(scene, flow.job_id, "processed") == {child.job_id: "after all"}


@pytest.mark.parametrize("kind", ["row", "dependencies", "processed", "failed", "unsuccessful"])
@pytest.mark.parametrize("end", ["complete", "bury", "remove"])
def test_a_parent_that_cannot_be_told_keeps_no_child_from_its_end(
    scene: Scene, kind: str, end: str
) -> None:
    child = job()
    flow = add(scene, child)
    held = scene.claim()
    row = scene.keys.row(flow.job_id)
    spoilt = row if kind == "row" else f"{row}:{kind}"
    scene.client.delete(spoilt)
    scene.client.rpush(spoilt, "x")

    finish(scene, held, end)

    assert scene.members("active") == []
    assert scene.members("pending") == []
    assert flow.job_id in scene.members("dead")


def finish(scene: Scene, held: Lease, end: str) -> None:
    if end == "complete":
        complete(scene, held)
    elif end == "bury":
        bury(scene, held)
    else:
        assert scene.queue.remove(held.job_id, force=True)


@pytest.mark.parametrize("end", ["complete", "bury", "remove"])
def test_an_outbox_of_another_type_refuses_the_end_with_nothing_written(
    scene: Scene, end: str
) -> None:
    far = Scene(scene.client, FAR)
    add(scene, job(queue=FAR))
    held = far.claim()
    scene.client.set(far.keys.outbox, "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        finish(far, held, end)

    assert scene.snapshot() == before
