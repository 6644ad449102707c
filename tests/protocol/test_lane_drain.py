from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, InvalidLane, WrongType
from echomq_app.protocol.states import Admission, State
from tests.foreign.flows import flow_add
from tests.protocol.lanes import GROUP, OTHER, Books, books, known, turn, waits
from tests.protocol.scene import Scene, new_id

MINUTE = timedelta(minutes=1)


def test_what_waits_goes_with_its_logs_and_everything_else_stays(scene: Scene) -> None:
    waits(scene, count=3)
    (held,) = turn(scene)
    other = waits(scene, OTHER)
    flat = scene.enqueue()
    waiting = books(scene).waiting
    scene.queue.add_log(waiting[0], "a line")
    scene.client.lpush(scene.keys.errors(waiting[0]), "{}")
    scene.lanes.limit(GROUP, 5)
    scene.lanes.weight(GROUP, 2)

    assert scene.lanes.drain(GROUP) == 2

    assert books(scene) == Books((), 1, False)
    assert books(scene, OTHER) == Books(tuple(other), 0, True)
    rows = {key for key in scene.snapshot() if ":job:" in key}
    assert rows == {scene.keys.row(job_id) for job_id in (held.job_id, *other, flat)}
    assert scene.client.hgetall(scene.keys.glimit) == {GROUP.encode(): b"5"}
    assert scene.client.hgetall(scene.keys.gweight) == {GROUP.encode(): b"2"}
    assert known(scene) == {GROUP, OTHER}


def test_a_lane_of_which_nothing_runs_is_forgotten(scene: Scene) -> None:
    waits(scene, count=2)
    scene.client.delete(scene.keys.wake)

    scene.lanes.drain(GROUP)

    assert scene.snapshot() == {}


def test_it_goes_oldest_first_in_bounded_steps_until_nothing_waits(scene: Scene) -> None:
    jobs = waits(scene, count=5)

    assert scene.run(calls.lane_drain(scene.keys, GROUP, 2)) == 2
    assert books(scene) == Books(tuple(jobs[2:]), 0, True)
    assert scene.run(calls.lane_drain(scene.keys, GROUP, 9)) == 3
    assert books(scene) == Books((), 0, False)


def test_a_lane_of_more_than_one_step_is_emptied_by_one_verb(scene: Scene) -> None:
    scene.client.zadd(scene.keys.lane(GROUP), {new_id(): 0 for _ in range(1001)})

    assert scene.lanes.drain(GROUP) == 1001

    assert scene.snapshot() == {}


def test_a_bound_stops_it(scene: Scene) -> None:
    scene.client.zadd(scene.keys.lane(GROUP), {new_id(): 0 for _ in range(1001)})

    assert scene.lanes.drain(GROUP, most=1000) == 1000

    assert scene.lanes.depth(GROUP) == 1


def test_ghosts_and_broken_rows_go_too(scene: Scene) -> None:
    broken = new_id()
    scene.client.set(scene.keys.row(broken), "x")
    scene.client.zadd(scene.keys.lane(GROUP), {broken: 0, new_id(): 0})

    assert scene.lanes.drain(GROUP) == 2

    assert scene.snapshot() == {}


def test_a_parked_lane_is_emptied_and_stays_parked(scene: Scene) -> None:
    waits(scene)
    scene.lanes.pause(GROUP)

    assert scene.lanes.drain(GROUP) == 1

    assert scene.client.smembers(scene.keys.paused) == {GROUP.encode()}


def test_an_empty_lane_answers_none(scene: Scene) -> None:
    assert scene.lanes.drain(GROUP) == 0


@pytest.mark.parametrize("kind", ["ring", "gactive", f"g:{GROUP}:pending"])
def test_books_of_another_type_refuse_with_nothing_written(scene: Scene, kind: str) -> None:
    waits(scene)
    scene.client.delete(scene.key(kind))
    scene.client.set(scene.key(kind), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.lanes.drain(GROUP)

    assert scene.snapshot() == before


def test_a_receipt_is_left_when_one_is_asked_for(scene: Scene) -> None:
    (job_id,) = waits(scene)

    scene.lanes.drain(GROUP, receipt_for=MINUTE)

    assert scene.queue.state(job_id) is State.DONE
    assert scene.lanes.enqueue(GROUP, job_id, b"w") is Admission.DUPLICATE


def test_the_parent_of_a_child_that_waited_in_the_lane_hears_of_a_death(scene: Scene) -> None:
    parent, child = new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {child: "c"})
    scene.queue.remove(child)
    (child,) = waits(scene)
    scene.client.hset(scene.keys.row(child), "parent", parent)

    scene.lanes.drain(GROUP)

    assert scene.queue.state(parent) is State.DEAD


@pytest.mark.parametrize("limit", [0, True, "5"])
def test_a_step_of_none_is_refused_before_any_wire(scene: Scene, limit: int) -> None:
    with pytest.raises(InvalidInput, match="a limit is a whole number from 1"):
        calls.lane_drain(scene.keys, GROUP, limit)


def test_a_name_that_is_none_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidLane, match="a lane is named by a branded id"):
        scene.lanes.drain("shop")
