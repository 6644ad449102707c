from __future__ import annotations

import pytest

from echomq_app.protocol import calls, replies
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import Stale
from echomq_app.protocol.states import Completion, State
from tests.foreign.flows import enqueue_child, flow_add, hold_parent
from tests.foreign.lanes import lane_claim, lane_limit
from tests.protocol.lanes import GROUP, Books, books, held_in_lane, laned
from tests.protocol.scene import Scene, new_id

RECEIPT = Retention(mark="nonce", receipt_ms=60_000)


def test_nothing_remains_but_the_counter(scene: Scene) -> None:
    held = scene.held(label="w1")
    scene.queue.add_log(held.job_id, "a line")
    scene.client.lpush(scene.keys.errors(held.job_id), "{}")

    scene.client.delete(scene.keys.wake)

    assert scene.queue.complete(held) is Completion.COMPLETED

    assert scene.snapshot() == {scene.key("metrics:completed"): ("hash", {"count": "1"}, False)}


def test_a_second_completion_hears_that_the_job_is_gone(scene: Scene) -> None:
    held = scene.held()
    scene.queue.complete(held)
    before = scene.snapshot()

    assert scene.queue.complete(held) is Completion.GONE

    assert scene.snapshot() == before


def test_a_late_completion_takes_the_job_out_of_pending(scene: Scene) -> None:
    held = scene.reaped(scene.held())

    assert scene.queue.complete(held) is Completion.COMPLETED

    assert scene.members("pending") == []
    assert scene.row(held.job_id) == {}


def test_a_receipt_says_whose_end_it_was_and_lives_as_long_as_it_says(scene: Scene) -> None:
    held = scene.held(label="host:1:7")

    scene.queue.complete(held, RECEIPT)

    result = scene.keys.result(held.job_id)
    receipt = replies.receipt(scene.client.get(result))
    assert receipt is not None
    assert (receipt.mark, receipt.token, receipt.label) == ("nonce", 1, "host:1:7")
    assert receipt.outcome is None
    assert 0 < scene.client.pttl(result) <= 60_000
    assert scene.score("expire", held.job_id) == receipt.until_ms
    assert scene.members("done") == []
    assert scene.queue.state(held.job_id) is State.DONE


def test_a_receipt_of_a_second_life_replaces_the_outcome_of_the_first(scene: Scene) -> None:
    keep = Retention(mark="m", receipt_ms=60_000, outcome=b"{}", result_ms=60_000, limit=9)
    first = scene.held()
    scene.queue.complete(first, keep)
    scene.client.delete(scene.keys.result(first.job_id))
    scene.enqueue(job_id=first.job_id)

    scene.queue.complete(scene.claim(), RECEIPT)

    assert scene.members("done") == []
    assert scene.members("outcomes") == []
    assert scene.members("expire") == [first.job_id]


def test_no_end_survives_in_a_queue_whose_retention_keys_are_broken(scene: Scene) -> None:
    for kind in ("expire", "done", "outcomes", "metrics:completed"):
        scene.client.set(scene.key(kind), "x")
    held = scene.held()

    assert scene.queue.complete(held, RECEIPT) is Completion.COMPLETED

    assert scene.places(held.job_id) == []
    assert scene.row(held.job_id) == {}


def test_a_job_of_a_lane_makes_room_in_it(scene: Scene) -> None:
    first, second = held_in_lane(scene), held_in_lane(scene)

    scene.run(calls.complete(scene.keys, first.job_id, first.token))
    assert books(scene) == Books((), 1, False)

    scene.run(calls.complete(scene.keys, second.job_id, second.token))
    assert books(scene) == Books((), 0, False)


def test_a_lane_at_its_ceiling_opens_again_and_tells_a_worker(scene: Scene) -> None:
    lane_limit(scene.client, scene.name, GROUP, 1)
    held = held_in_lane(scene)
    waiting = laned(scene)
    assert lane_claim(scene.client, scene.name) is None
    wakes = scene.wakes()

    scene.run(calls.complete(scene.keys, held.job_id, held.token))

    assert books(scene) == Books((waiting,), 0, True)
    assert scene.wakes() == wakes + 1


def test_a_parked_lane_stays_out_of_the_ring(scene: Scene) -> None:
    held = held_in_lane(scene)
    waiting = laned(scene)
    scene.client.sadd(scene.key("paused"), GROUP)
    scene.client.delete(scene.key("ring"))

    scene.run(calls.complete(scene.keys, held.job_id, held.token))

    assert books(scene) == Books((waiting,), 0, False)


def test_a_late_completion_empties_the_lane_and_leaves_the_ring(scene: Scene) -> None:
    held = held_in_lane(scene)
    scene.lapse(held.job_id)
    scene.queue.reap()
    assert books(scene) == Books((held.job_id,), 0, True)

    scene.run(calls.complete(scene.keys, held.job_id, held.token))

    assert books(scene) == Books((), 0, False)
    assert scene.row(held.job_id) == {}


def test_the_last_child_releases_its_parent_and_wakes_a_worker(scene: Scene) -> None:
    parent, one, two = new_id(), new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {one: "1", two: "2"})
    first, second = scene.claim(), scene.claim()
    kept = Retention(mark="m", receipt_ms=60_000, outcome=b"r1")

    scene.queue.complete(first, kept)
    assert scene.queue.state(parent) is State.AWAITING_CHILDREN
    scene.queue.complete(second)

    assert scene.queue.state(parent) is State.PENDING
    assert scene.wakes() == 1
    row = scene.keys.row(parent)
    assert scene.client.hgetall(row + ":processed") == {
        one.encode(): b"r1",
        two.encode(): two.encode(),
    }
    assert scene.client.get(row + ":dependencies") == b"0"


def test_a_child_counts_once(scene: Scene) -> None:
    parent, one, two = new_id(), new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {one: "1", two: "2"})
    held = scene.claim()

    scene.queue.complete(held)
    scene.queue.complete(held)

    assert scene.client.get(scene.keys.row(parent) + ":dependencies") == b"1"


def test_a_child_that_was_reaped_and_comes_late_releases_its_parent_all_the_same(
    scene: Scene,
) -> None:
    parent, child = new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {child: "c"})
    held = scene.reaped(scene.claim())

    scene.queue.complete(held)

    assert scene.queue.state(parent) is State.PENDING


def test_a_parent_that_died_is_not_brought_back_by_a_child(scene: Scene) -> None:
    parent, child = new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {child: "c"})
    held = scene.claim()
    scene.client.hset(scene.keys.row(parent), "state", "dead")
    scene.client.zadd(scene.keys.dead, {parent: 0})

    scene.queue.complete(held)

    assert scene.places(parent) == ["dead"]


def test_a_parent_that_is_gone_gets_no_skeleton(scene: Scene) -> None:
    parent, child = new_id(), new_id()
    enqueue_child(scene.client, scene.name, (child, "c"), parent)

    scene.queue.complete(scene.claim())

    assert scene.snapshot() == {scene.key("metrics:completed"): ("hash", {"count": "1"}, False)}


def test_a_child_of_another_queue_tells_its_parent_through_the_outbox(scene: Scene) -> None:
    parent, child = new_id(), new_id()
    hold_parent(scene.client, "other", parent, "p", 1)
    enqueue_child(scene.client, scene.name, (child, "c"), parent, "other")

    scene.queue.complete(scene.claim())

    (entry,) = scene.client.lrange(scene.key("flow:outbox"), 0, -1)
    assert entry.decode().split("\0") == ["other", parent, child, child]


def test_a_refused_completion_tells_no_parent(scene: Scene) -> None:
    parent, child = new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {child: "c"})
    held = scene.claim()
    before = scene.snapshot()

    with pytest.raises(Stale):
        scene.run(calls.complete(scene.keys, child, held.token + 1))

    assert scene.snapshot() == before
