"""Scenarios of flows: others add them and carry between queues, our settling tells the parents."""

from __future__ import annotations

from datetime import timedelta

from echomq_app.protocol.calls import Retention
from echomq_app.protocol.keyspace import slot
from echomq_app.protocol.states import State
from echomq_app.service.records import Lease
from tests.foreign.flows import (
    deliver,
    enqueue_child,
    fail_policy,
    flow_add,
    hold_parent,
    sweep_outbox,
)
from tests.protocol.scene import Scene, new_id


def complete(scene: Scene, held: Lease, result: bytes) -> None:
    """Finish a child with a result for its parent."""
    keep = Retention(mark="m", receipt_ms=60_000, outcome=result)
    scene.queue.complete(held, keep)


def bury(scene: Scene, held: Lease, error: str = "boom") -> None:
    scene.queue.retry(held, delay=timedelta(), max_attempts=1, error=error)


def children_of(scene: Scene, parent: str, kind: str) -> dict[str, str]:
    """What the parent knows of its children, by child."""
    found = scene.client.hgetall(f"{scene.keys.row(parent)}:{kind}")
    return {child.decode(): text.decode() for child, text in found.items()}


def dependencies(scene: Scene, parent: str) -> int:
    return int(scene.client.get(scene.keys.row(parent) + ":dependencies"))


def test_47_flow_add(scene: Scene) -> None:
    parent, one, two = new_id(), new_id(), new_id()

    flow_add(scene.client, scene.name, (parent, "p"), {one: "1", two: "2"})

    assert dependencies(scene, parent) == 2
    assert scene.queue.state(parent) is State.AWAITING_CHILDREN
    assert scene.places(parent) == []
    assert [scene.claim().job_id, scene.claim().job_id] == [one, two]


def test_48_flow_fanin(scene: Scene) -> None:
    parent, one, two = new_id(), new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {one: "1", two: "2"})
    first, second = scene.claim(), scene.claim()

    complete(scene, first, b"r1")
    complete(scene, first, b"r1")
    assert dependencies(scene, parent) == 1
    assert scene.queue.state(parent) is State.AWAITING_CHILDREN
    complete(scene, second, b"r2")

    assert dependencies(scene, parent) == 0
    assert set(children_of(scene, parent, "processed")) == {one, two}
    assert scene.claim().job_id == parent


def test_49_flow_children_values(scene: Scene) -> None:
    parent, one, two = new_id(), new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {one: "1", two: "2"})

    complete(scene, scene.claim(), b"first")
    complete(scene, scene.claim(), b"second")

    assert children_of(scene, parent, "processed") == {one: "first", two: "second"}


def test_50_flow_cross_queue(scene: Scene) -> None:
    home = Scene(scene.client, scene.name + ".parents")
    parent, child = new_id(), new_id()
    hold_parent(scene.client, home.name, parent, "p", 1)
    enqueue_child(scene.client, scene.name, (child, "c"), parent, home.name)
    assert slot(home.keys.base) != slot(scene.keys.base)

    complete(scene, scene.claim(), b"far")
    (entry,) = scene.client.lrange(scene.key("flow:outbox"), 0, -1)
    assert home.queue.state(parent) is State.AWAITING_CHILDREN
    assert sweep_outbox(scene.client, scene.name) == 1
    deliver(scene.client, entry.decode())

    assert children_of(home, parent, "processed") == {child: "far"}
    assert dependencies(home, parent) == 0
    assert home.claim().job_id == parent


def test_51_flow_fail_parent(scene: Scene) -> None:
    home = Scene(scene.client, scene.name + ".parents")
    near, far, child, distant = new_id(), new_id(), new_id(), new_id()
    flow_add(scene.client, scene.name, (near, "p"), {child: "c"})
    bury(scene, scene.claim())
    assert scene.queue.state(near) is State.DEAD
    assert children_of(scene, near, "failed") == {child: "boom"}

    hold_parent(scene.client, home.name, far, "p", 1)
    enqueue_child(scene.client, scene.name, (distant, "c"), far, home.name)
    bury(scene, scene.claim())
    assert home.queue.state(far) is State.AWAITING_CHILDREN
    sweep_outbox(scene.client, scene.name)

    assert home.queue.state(far) is State.DEAD
    assert children_of(home, far, "failed") == {distant: "boom"}


def test_52_flow_ignore_dep(scene: Scene) -> None:
    parent, lost, kept = new_id(), new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {lost: "1", kept: "2"})
    fail_policy(scene.client, scene.name, lost, "id")

    bury(scene, scene.claim())
    complete(scene, scene.claim(), b"ok")

    assert scene.queue.state(parent) is State.PENDING
    assert children_of(scene, parent, "unsuccessful") == {lost: "boom"}
    assert children_of(scene, parent, "processed") == {kept: "ok"}


def test_54_flow_grandchild(scene: Scene) -> None:
    home = Scene(scene.client, scene.name + ".parents")
    top, middle, leaf = new_id(), new_id(), new_id()
    hold_parent(scene.client, home.name, top, "t", 1)
    flow_add(scene.client, scene.name, (middle, "m"), {leaf: "l"})
    scene.client.hset(scene.keys.row(middle), mapping={"parent": top, "parent_queue": home.name})

    complete(scene, scene.claim(), b"leaf")
    assert scene.queue.state(middle) is State.PENDING
    assert home.queue.state(top) is State.AWAITING_CHILDREN
    complete(scene, scene.claim(), b"middle")
    sweep_outbox(scene.client, scene.name)

    assert home.queue.state(top) is State.PENDING
    assert children_of(home, top, "processed") == {middle: "middle"}
