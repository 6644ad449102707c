from __future__ import annotations

from collections.abc import Callable

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, WrongState, WrongType
from echomq_app.protocol.keyspace import QUEUES
from echomq_app.service.bus import ServerBus
from tests.foreign.flows import flow_add
from tests.foreign.lanes import LaneKeys, lane_limit, lane_pause
from tests.protocol.cases_housekeeping import everywhere
from tests.protocol.lanes import GROUP, OTHER, held_in_lane, laned
from tests.protocol.scene import LONG, Scene, new_id

LEFT_ALONE = "emq:{q2}:pending"


def beside(scene: Scene) -> None:
    """Another queue, whose name begins alike."""
    scene.client.zadd(LEFT_ALONE, {new_id(): 0})


def test_everything_of_a_paused_queue_goes_and_nothing_else(scene: Scene) -> None:
    everywhere(scene)
    beside(scene)
    scene.queue.pause()

    scene.queue.obliterate(force=True)

    assert list(scene.snapshot()) == [LEFT_ALONE]


def test_the_queue_leaves_the_list_of_known_queues(scene: Scene) -> None:
    bus = ServerBus(scene.wire)
    bus.join("q")
    bus.join("q2")
    scene.enqueue()
    scene.queue.pause()

    scene.queue.obliterate()

    assert bus.known_queues() == ["q2"]


def test_a_queue_that_is_not_paused_is_refused_unchanged(scene: Scene) -> None:
    everywhere(scene)
    ServerBus(scene.wire).join("q")
    before = scene.snapshot()

    with pytest.raises(WrongState, match="EMQSTATE not paused: pause the queue"):
        scene.queue.obliterate(force=True)

    assert scene.snapshot() == before


def test_a_queue_whose_jobs_run_is_refused_unchanged_without_force(scene: Scene) -> None:
    scene.held()
    scene.enqueue()
    scene.queue.pause()
    before = scene.snapshot()

    with pytest.raises(WrongState, match="EMQSTATE active: jobs of the queue run"):
        scene.queue.obliterate()

    assert scene.snapshot() == before


def test_by_force_the_holder_of_a_job_hears_that_it_is_gone(scene: Scene) -> None:
    held = scene.held()
    scene.queue.pause()

    scene.queue.obliterate(force=True)

    assert scene.queue.extend([held], LONG) == [held.job_id]
    assert scene.queue.complete(held).value == "gone"
    assert scene.snapshot() == {}


def test_a_queue_that_never_was_is_obliterated_already(scene: Scene) -> None:
    scene.client.sadd(QUEUES, "q")

    scene.queue.obliterate()

    assert scene.snapshot() == {}


@pytest.mark.parametrize("budget", [1, 2, 3, 7])
def test_small_steps_come_to_the_same_end_and_the_queue_stays_paused_till_then(
    scene: Scene, budget: int
) -> None:
    everywhere(scene)
    scene.queue.pause()

    steps = 1
    while scene.run(calls.obliterate(scene.keys, force=True, budget=budget)):
        assert scene.queue.is_paused()
        steps += 1

    assert scene.snapshot() == {}
    assert steps > 8 // budget


@pytest.mark.parametrize("lane", ["in the ring", "parked", "at its ceiling"])
def test_lanes_go_wherever_the_books_name_them(scene: Scene, lane: str) -> None:
    act: dict[str, Callable[[], object]] = {
        "in the ring": lambda: None,
        "parked": lambda: lane_pause(scene.client, scene.name, GROUP),
        "at its ceiling": lambda: lane_limit(scene.client, scene.name, GROUP, 1),
    }
    held_in_lane(scene)
    act[lane]()
    for _ in range(3):
        laned(scene)
    scene.client.hset(scene.key("gweight"), OTHER, 3)
    scene.queue.pause()

    scene.queue.obliterate(force=True)

    assert scene.snapshot() == {}


def test_a_lane_that_only_the_registry_names_goes(scene: Scene) -> None:
    laned(scene)
    scene.client.sadd(LaneKeys(scene.name).groups, GROUP)
    scene.client.delete(LaneKeys(scene.name).ring)
    scene.queue.pause()

    scene.queue.obliterate()

    assert scene.snapshot() == {}


def test_parents_that_wait_for_children_go_with_them_up_to_the_top(scene: Scene) -> None:
    top, middle, child = new_id(), new_id(), new_id()
    flow_add(scene.client, scene.name, (top, "t"), {middle: "m"})
    flow_add(scene.client, scene.name, (new_id(), "other"), {new_id(): "c"})
    scene.client.zrem(scene.keys.pending, middle)
    scene.client.hset(scene.keys.row(middle), "state", "awaiting_children")
    scene.client.set(scene.keys.row(middle) + ":dependencies", 1)
    scene.enqueue(job_id=child)
    scene.client.hset(scene.keys.row(child), "parent", middle)
    scene.queue.pause()

    scene.queue.obliterate()

    assert scene.snapshot() == {}


def test_ghosts_and_rows_that_are_no_hash_go(scene: Scene) -> None:
    ghost, bad = new_id(), new_id()
    scene.client.zadd(scene.keys.dead, {ghost: 0, bad: 0})
    scene.client.set(scene.keys.row(bad), "x")
    scene.queue.pause()

    scene.queue.obliterate()

    assert scene.snapshot() == {}


def test_deduplication_keys_go_as_far_as_they_are_known(scene: Scene) -> None:
    scene.queue.dedup("ours", new_id(), LONG)
    scene.client.set(scene.key("de:foreign"), new_id())
    scene.queue.pause()

    scene.queue.obliterate()

    assert list(scene.snapshot()) == ["emq:{q}:de:foreign"]


@pytest.mark.parametrize("budget", [0, 5001])
def test_a_budget_that_no_script_may_spend_is_refused_before_any_wire(
    scene: Scene, budget: int
) -> None:
    with pytest.raises(InvalidInput, match="a budget is a whole number from 1 to 5000"):
        calls.obliterate(scene.keys, budget=budget)


def test_the_greatest_budget_is_spent_in_one_call(scene: Scene) -> None:
    scene.client.zadd(scene.keys.pending, {new_id(): 0 for _ in range(4999)})
    scene.queue.pause()

    assert scene.run(calls.obliterate(scene.keys, budget=5000)) is False


@pytest.mark.parametrize("key", ["active", "expire", "repeat", "slots", "dids", "groups", "meta"])
def test_a_key_of_another_type_is_refused_with_nothing_gone(scene: Scene, key: str) -> None:
    scene.enqueue()
    scene.queue.pause()
    scene.client.delete(scene.key(key))
    scene.client.set(scene.key(key), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.queue.obliterate()

    assert scene.snapshot() == before
