"""Cases of flows that we make ourselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call, FlowPart
from echomq_app.protocol.states import Fate
from echomq_app.service.flow_tree import FlowJob, cut
from tests.protocol.cases import case
from tests.protocol.cases_admission import ORDER, receipted
from tests.protocol.cases_settling import failed
from tests.protocol.flows import add, bury, job
from tests.protocol.scene import Scene, new_id


def top_call(flow: FlowJob) -> Call[Any]:
    """The first call of a flow's admission."""
    piece = cut(flow)[0][0]
    return calls.flow_add(piece.keys, piece.parts)


def held_parent(scene: Scene, above: str = "", queue: str = "") -> str:
    """A parent that waits for one child on another queue."""
    parent = new_id()
    part = FlowPart(parent, b"p", above, queue, children=1)
    scene.run(calls.flow_add(scene.keys, [part]))
    return parent


def tell(scene: Scene, parent: str, fate: Fate) -> Call[Any]:
    return calls.flow_deliver(scene.keys, parent, new_id(), fate, b"told")


@case("flow_add", "1")
def a_flow_of_three_levels(scene: Scene) -> Call[Any]:
    return top_call(job(job(job(), job()), job(ignore=True), queue=scene.name))


@case("flow_add", "1")
def a_child_of_a_parent_elsewhere(scene: Scene) -> Call[Any]:
    return calls.flow_add(scene.keys, [FlowPart(new_id(), b"c", new_id(), "other")])


@case("flow_add", "0")
def a_flow_that_is_there(scene: Scene) -> Call[Any]:
    return top_call(add(scene, job()))


@case("flow_add", "0")
def a_flow_whose_parent_left_a_receipt(scene: Scene) -> Call[Any]:
    flow = replace(job(job(), queue=scene.name), job_id=receipted(scene))
    return top_call(flow)


@case("flow_add", "n")
def a_flow_whose_child_is_there(scene: Scene) -> Call[Any]:
    return top_call(job(job(), replace(job(), job_id=scene.enqueue()), queue=scene.name))


@case("flow_add", "EMQKIND")
def a_flow_with_an_order(scene: Scene) -> Call[Any]:
    return calls.flow_add(scene.keys, [FlowPart(new_id(), b"p", children=1), FlowPart(ORDER, b"c")])


@case("flow_add", "ERR")
def a_flow_of_a_few_children(scene: Scene) -> Call[Any]:
    call = top_call(job(job(), queue=scene.name))
    return replace(call, args=(*call.args[:5], "few", *call.args[6:]))


@case("flow_deliver", "1")
def the_last_child_elsewhere_is_done(scene: Scene) -> Call[Any]:
    return tell(scene, held_parent(scene), Fate.DONE)


@case("flow_deliver", "1")
def a_child_elsewhere_died(scene: Scene) -> Call[Any]:
    return tell(scene, held_parent(scene), Fate.FAILS)


@case("flow_deliver", "1")
def a_child_elsewhere_died_and_is_ignored(scene: Scene) -> Call[Any]:
    return tell(scene, held_parent(scene), Fate.IGNORED)


@case("flow_deliver", "1")
def a_death_that_climbs_here_and_away(scene: Scene) -> Call[Any]:
    top = held_parent(scene, new_id(), "other")
    return tell(scene, held_parent(scene, top), Fate.FAILS)


@case("flow_deliver", "0")
def told_already(scene: Scene) -> Call[Any]:
    call = tell(scene, held_parent(scene), Fate.DONE)
    scene.run(call)
    return call


@case("flow_deliver", "0")
def no_parent(scene: Scene) -> Call[Any]:
    return tell(scene, new_id(), Fate.DONE)


@case("flow_deliver", "ERR")
def a_fate_of_another_sort(scene: Scene) -> Call[Any]:
    call = tell(scene, held_parent(scene), Fate.DONE)
    return replace(call, args=(*call.args[:2], "lost", b"told"))


@case("flow_sweep", "n")
def carried_entries_and_one_that_nobody_can_carry(scene: Scene) -> Call[Any]:
    scene.client.rpush(scene.keys.outbox, "one", "two", "three")
    return calls.flow_sweep(scene.keys, [b"one", b"gone"], [b"two"])


@case("flow_sweep", "ERR")
def swept_by_another_word(scene: Scene) -> Call[Any]:
    call = calls.flow_sweep(scene.keys, [b"one"])
    return replace(call, args=("lost", b"one"))


@case("retry", "dead")
def a_grandchild_that_fails_both_above(scene: Scene) -> Call[Any]:
    add(scene, job(job()))
    held = scene.claim()
    return failed(scene, held.job_id, held.token, 1)


@case("complete", "1")
def a_child_that_died_ignored_and_was_requeued(scene: Scene) -> Call[Any]:
    add(scene, job(ignore=True), job())
    held = scene.claim()
    bury(scene, held)
    scene.queue.requeue(held.job_id)
    again = scene.claim()
    return calls.complete(scene.keys, again.job_id, again.token)


@case("remove", "1")
def a_child_of_a_parent_here(scene: Scene) -> Call[Any]:
    child = job()
    add(scene, child)
    return calls.remove(scene.keys, child.job_id)


@case("remove", "1")
def a_child_of_a_parent_on_another_queue(scene: Scene) -> Call[Any]:
    child = new_id()
    scene.run(calls.flow_add(scene.keys, [FlowPart(child, b"c", new_id(), "other")]))
    return calls.remove(scene.keys, child)


@case("claim_many", "[[id, payload, token, excused, lapses]]")
def a_broken_row_of_a_child(scene: Scene) -> Call[Any]:
    child = job()
    add(scene, child)
    scene.client.hdel(scene.keys.row(child.job_id), "payload")
    return calls.claim_many(scene.keys, 1000, 10, "w1")
