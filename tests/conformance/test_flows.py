"""Scenarios of flows, each with flows of ours and with flows that another program makes and carries."""

from __future__ import annotations

from typing import Protocol

import pytest

from echomq_app.protocol.errors import IdCollision
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.keyspace import slot
from echomq_app.protocol.states import Admission, State
from echomq_app.service.flow_tree import FlowJob
from echomq_app.service.flows import Flows
from tests.foreign import flows as foreign
from tests.protocol.flows import bury, complete, ends, job, left
from tests.protocol.scene import Scene, new_id


class Speaker(Protocol):
    """Makes flows and carries what children tell; who settles is always us."""

    def add(self, scene: Scene, parent: str, *children: str, ignored: str = "") -> None:
        """A parent and its children on one queue."""

    def add_far(self, home: Scene, parent: str, scene: Scene, child: str) -> None:
        """A parent on ``home`` and its only child on ``scene``."""

    def add_between(self, home: Scene, top: str, scene: Scene, middle: str, leaf: str) -> None:
        """A leaf and its parent on ``scene``, whose parent is on ``home``."""

    def carry(self, scene: Scene) -> int:
        """Carry what waits in the queue's outbox; how many entries."""


class Ours:
    """Our own verbs."""

    def add(self, scene: Scene, parent: str, *children: str, ignored: str = "") -> None:
        below = [as_job(child, ignore=child == ignored) for child in children]
        Flows(scene.wire).add(as_job(parent, *below, queue=scene.name))

    def add_far(self, home: Scene, parent: str, scene: Scene, child: str) -> None:
        Flows(home.wire).add(as_job(parent, as_job(child, queue=scene.name), queue=home.name))

    def add_between(self, home: Scene, top: str, scene: Scene, middle: str, leaf: str) -> None:
        below = as_job(middle, as_job(leaf), queue=scene.name)
        Flows(home.wire).add(as_job(top, below, queue=home.name))

    def carry(self, scene: Scene) -> int:
        return Flows(scene.wire).carry(scene.name).entries


class Foreign:
    """Another program, which speaks the protocol's plain scripts."""

    def add(self, scene: Scene, parent: str, *children: str, ignored: str = "") -> None:
        named = dict.fromkeys(children, "c")
        foreign.flow_add(scene.client, scene.name, (parent, "p"), named)
        for child in children:
            policy = "id" if child == ignored else "fp"
            foreign.fail_policy(scene.client, scene.name, child, policy)

    def add_far(self, home: Scene, parent: str, scene: Scene, child: str) -> None:
        foreign.hold_parent(home.client, home.name, parent, "p", 1)
        foreign.enqueue_child(scene.client, scene.name, (child, "c"), parent, home.name)

    def add_between(self, home: Scene, top: str, scene: Scene, middle: str, leaf: str) -> None:
        foreign.hold_parent(home.client, home.name, top, "t", 1)
        foreign.flow_add(scene.client, scene.name, (middle, "m"), {leaf: "l"})
        above = {"parent": top, "parent_queue": home.name}
        scene.client.hset(scene.keys.row(middle), mapping=above)

    def carry(self, scene: Scene) -> int:
        return foreign.sweep_outbox(scene.client, scene.name)


def as_job(job_id: str, *children: FlowJob, queue: str = "", ignore: bool = False) -> FlowJob:
    return FlowJob(
        job_id=job_id,
        payload=job_id.encode(),
        queue=queue,
        children=children,
        ignore_failure=ignore,
    )


def new_ids(count: int) -> list[JobId]:
    return [new_id() for _ in range(count)]


def parents_of(scene: Scene) -> Scene:
    """The queue where the parents are."""
    home = Scene(scene.client, scene.name + ".parents")
    assert slot(home.keys.base) != slot(scene.keys.base)
    return home


each_speaker = pytest.mark.parametrize("speaker", [Ours(), Foreign()], ids=["ours", "foreign"])


@each_speaker
def test_47_flow_add(scene: Scene, speaker: Speaker) -> None:
    parent, one, two = new_ids(3)

    speaker.add(scene, parent, one, two)

    assert left(scene, parent) == 2
    assert scene.queue.state(parent) is State.AWAITING_CHILDREN
    assert scene.places(parent) == []
    assert [scene.claim().job_id, scene.claim().job_id] == [one, two]


@each_speaker
def test_48_flow_fanin(scene: Scene, speaker: Speaker) -> None:
    parent, one, two = new_ids(3)
    speaker.add(scene, parent, one, two)
    first, second = scene.claim(), scene.claim()

    complete(scene, first, b"r1")
    complete(scene, first, b"r1")
    assert left(scene, parent) == 1
    assert scene.queue.state(parent) is State.AWAITING_CHILDREN
    complete(scene, second, b"r2")

    assert left(scene, parent) == 0
    assert set(ends(scene, parent, "processed")) == {one, two}
    assert scene.claim().job_id == parent


@each_speaker
def test_49_flow_children_values(scene: Scene, speaker: Speaker) -> None:
    parent, one, two = new_ids(3)
    speaker.add(scene, parent, one, two)

    complete(scene, scene.claim(), b"first")
    complete(scene, scene.claim(), b"second")

    before = scene.snapshot()
    found = Flows(scene.wire).children(scene.name, parent)
    assert found.values == {one: b"first", two: b"second"}
    assert scene.snapshot() == before


@each_speaker
def test_50_flow_cross_queue(scene: Scene, speaker: Speaker) -> None:
    home = parents_of(scene)
    parent, child = new_ids(2)
    speaker.add_far(home, parent, scene, child)

    complete(scene, scene.claim(), b"far")
    (entry,) = scene.client.lrange(scene.keys.outbox, 0, -1)
    assert home.queue.state(parent) is State.AWAITING_CHILDREN
    assert speaker.carry(scene) == 1
    scene.client.rpush(scene.keys.outbox, entry)
    assert speaker.carry(scene) == 1

    assert ends(home, parent, "processed") == {child: "far"}
    assert left(home, parent) == 0
    assert home.claim().job_id == parent


@each_speaker
def test_51_flow_fail_parent(scene: Scene, speaker: Speaker) -> None:
    home = parents_of(scene)
    near, far, child, distant = new_ids(4)
    speaker.add(scene, near, child)
    bury(scene, scene.claim())
    assert scene.queue.state(near) is State.DEAD
    assert ends(scene, near, "failed") == {child: "boom"}

    speaker.add_far(home, far, scene, distant)
    bury(scene, scene.claim())
    assert home.queue.state(far) is State.AWAITING_CHILDREN
    speaker.carry(scene)

    assert home.queue.state(far) is State.DEAD
    assert ends(home, far, "failed") == {distant: "boom"}


@each_speaker
def test_52_flow_ignore_dep(scene: Scene, speaker: Speaker) -> None:
    parent, lost, kept = new_ids(3)
    speaker.add(scene, parent, lost, kept, ignored=lost)

    bury(scene, scene.claim())
    complete(scene, scene.claim(), b"ok")

    assert scene.queue.state(parent) is State.PENDING
    found = Flows(scene.wire).children(scene.name, parent)
    assert found.ignored == {lost: "boom"}
    assert found.values == {kept: b"ok"}


def test_53_flow_add_bulk(scene: Scene) -> None:
    home = parents_of(scene)
    taken = home.enqueue(b"another job")
    poison = job(as_job(taken, queue=home.name), queue=scene.name)
    first, last = (job(job(), job(), queue=scene.name) for _ in range(2))

    verdicts = Flows(scene.wire).add_many([first, poison, last])

    assert [verdicts[0], verdicts[2]] == [Admission.ADMITTED] * 2
    assert isinstance(verdicts[1], IdCollision)
    assert scene.queue.state(poison.job_id) is State.AWAITING_CHILDREN
    for held in [scene.claim() for _ in range(4)]:
        complete(scene, held)
    assert [scene.queue.state(one.job_id) for one in (first, poison, last)] == [
        State.PENDING,
        State.AWAITING_CHILDREN,
        State.PENDING,
    ]


@each_speaker
def test_54_flow_grandchild(scene: Scene, speaker: Speaker) -> None:
    home = parents_of(scene)
    top, middle, leaf = new_ids(3)
    speaker.add_between(home, top, scene, middle, leaf)

    complete(scene, scene.claim(), b"leaf")
    assert scene.queue.state(middle) is State.PENDING
    assert home.queue.state(top) is State.AWAITING_CHILDREN
    complete(scene, scene.claim(), b"middle")
    speaker.carry(scene)

    assert home.queue.state(top) is State.PENDING
    assert ends(home, top, "processed") == {middle: "middle"}


def test_55_flow_grandchild_fail(scene: Scene) -> None:
    """On one queue at once; each change of queue above costs a sweep; where it is ignored it stops."""
    home = parents_of(scene)
    near = job(job(job()), queue=scene.name)
    third = job(job(), queue=home.name)
    second = job(third, queue=scene.name)
    first = job(second, queue=home.name)
    ignoring = job(
        job(job(job(queue=scene.name), queue=scene.name), queue=home.name, ignore=True),
        queue=home.name,
    )
    flows = Flows(scene.wire)

    flows.add(near)
    bury(scene, scene.claim())
    assert [scene.queue.state(one) for one in (near.job_id, near.children[0].job_id)] == [
        State.DEAD,
        State.DEAD,
    ]
    assert len(ends(scene, near.job_id, "failed")) == 1

    flows.add(first)
    bury(home, home.claim())
    assert home.queue.state(third.job_id) is State.DEAD
    assert flows.carry(home.name).entries == 1
    assert scene.queue.state(second.job_id) is State.DEAD
    assert home.queue.state(first.job_id) is State.AWAITING_CHILDREN
    assert flows.carry(scene.name).entries == 1
    assert home.queue.state(first.job_id) is State.DEAD
    assert ends(home, first.job_id, "failed").keys() == {second.job_id}

    flows.add(ignoring)
    bury(scene, scene.claim())
    flows.carry(scene.name)
    assert home.queue.state(ignoring.children[0].job_id) is State.DEAD
    assert home.claim().job_id == ignoring.job_id
    assert len(ends(home, ignoring.job_id, "unsuccessful")) == 1
