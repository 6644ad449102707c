from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import WrongType
from echomq_app.protocol.states import State
from tests.foreign.flows import flow_add
from tests.protocol.lanes import held_in_lane, laned
from tests.protocol.scene import Scene, new_id


def test_a_job_is_where_the_sets_say_through_its_whole_life(scene: Scene) -> None:
    job_id = scene.enqueue()
    seen = [scene.queue.state(job_id)]

    held = scene.claim()
    seen.append(scene.queue.state(job_id))
    scene.queue.retry(held, delay=timedelta(minutes=1), max_attempts=2, error="e")
    seen.append(scene.queue.state(job_id))
    scene.fall_due(job_id)
    scene.queue.promote()
    scene.queue.retry(scene.claim(), delay=timedelta(), max_attempts=2, error="e")
    seen.append(scene.queue.state(job_id))
    scene.queue.requeue(job_id)
    scene.queue.complete(scene.claim(), Retention(mark="m", receipt_ms=60_000))
    seen.append(scene.queue.state(job_id))

    assert seen == [State.PENDING, State.ACTIVE, State.SCHEDULED, State.DEAD, State.DONE]


def test_what_nobody_knows_is_absent(scene: Scene) -> None:
    assert scene.queue.state(new_id()) is State.ABSENT


def test_a_row_that_no_set_holds_is_unknown_whatever_its_word(scene: Scene) -> None:
    held = scene.held()
    scene.client.zrem(scene.keys.active, held.job_id)

    assert scene.queue.state(held.job_id) is State.UNKNOWN


def test_a_ghost_is_where_its_set_says(scene: Scene) -> None:
    ghost = new_id()
    scene.client.zadd(scene.keys.dead, {ghost: 0})

    assert scene.queue.state(ghost) is State.DEAD


@pytest.mark.parametrize("place", ["high", "low"])
def test_a_job_of_another_priority_waits_too(scene: Scene, place: str) -> None:
    job_id = scene.enqueue()
    scene.client.zrem(scene.keys.pending, job_id)
    scene.client.zadd(scene.key(place), {job_id: -5})

    assert scene.queue.state(job_id) is State.PENDING


def test_a_job_of_a_lane_waits_and_runs_as_any_other(scene: Scene) -> None:
    assert scene.queue.state(laned(scene)) is State.PENDING
    held = held_in_lane(scene)
    assert scene.queue.state(held.job_id) is State.ACTIVE


def test_a_parent_awaits_its_children(scene: Scene) -> None:
    parent = new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {new_id(): "c"})

    assert scene.queue.state(parent) is State.AWAITING_CHILDREN


def test_a_row_of_another_type_is_refused_by_name(scene: Scene) -> None:
    job_id = new_id()
    scene.client.set(scene.keys.row(job_id), "x")

    with pytest.raises(WrongType):
        scene.queue.state(job_id)
