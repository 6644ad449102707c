from __future__ import annotations

from dataclasses import replace

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import FlowPart, Retention
from echomq_app.protocol.errors import (
    EchoMQError,
    IdCollision,
    InvalidInput,
    InvalidJobId,
    WrongKind,
    WrongType,
)
from echomq_app.protocol.keyspace import VERSION
from echomq_app.protocol.payload import mark
from echomq_app.protocol.states import Admission, State
from echomq_app.service.flow_tree import FlowJob
from echomq_app.service.flows import Flows
from tests.protocol.flows import FAR, add, bury, complete, ends, ids, job, left
from tests.protocol.scene import Scene, new_id

ORDER = "ORD0KHTOWnGLuC"


def test_children_can_be_claimed_and_their_parent_is_held(scene: Scene) -> None:
    one, two = job(payload=b"1"), job(payload=b"2")

    flow = add(scene, one, two)

    assert scene.queue.state(flow.job_id) is State.AWAITING_CHILDREN
    assert scene.places(flow.job_id) == []
    assert left(scene, flow.job_id) == 2
    assert scene.members("pending") == ids([one, two])
    assert scene.wakes() == 2


def test_rows_are_born_with_these_fields_and_no_other(scene: Scene) -> None:
    fails, ignored = job(payload=b"1"), job(payload=b"2", ignore=True)

    flow = add(scene, fails, ignored)

    born = {"state": "pending", "attempts": "0", "parent": flow.job_id}
    assert scene.row(fails.job_id) == {**born, "payload": "1", "parent_policy": "fp"}
    assert scene.row(ignored.job_id) == {**born, "payload": "2", "parent_policy": "id"}
    assert scene.row(flow.job_id) == {
        "state": "awaiting_children",
        "attempts": "0",
        "payload": flow.job_id,
    }


def test_the_last_child_makes_the_parent_claimable(scene: Scene) -> None:
    flow = add(scene, job(), job())

    complete(scene, scene.claim(), b"r1")
    assert scene.queue.state(flow.job_id) is State.AWAITING_CHILDREN
    complete(scene, scene.claim(), b"r2")

    assert scene.claim().job_id == flow.job_id


def test_three_levels_of_one_queue_are_one_script_and_complete_upwards(scene: Scene) -> None:
    middle = job(job(), job())
    flow = add(scene, middle, job())
    assert left(scene, flow.job_id) == 2
    assert left(scene, middle.job_id) == 2

    for _ in range(2):
        assert scene.queue.state(middle.job_id) is State.AWAITING_CHILDREN
        complete(scene, scene.claim())
    assert scene.queue.state(middle.job_id) is State.PENDING
    for _ in range(2):
        assert scene.queue.state(flow.job_id) is State.AWAITING_CHILDREN
        complete(scene, scene.claim())

    assert scene.claim().job_id == flow.job_id


def test_a_parent_that_is_done_leaves_nothing_of_its_books(scene: Scene) -> None:
    flow = add(scene, job(), job(ignore=True))
    complete(scene, scene.claim())
    bury(scene, scene.claim())

    scene.queue.complete(scene.claim())

    assert [key for key in scene.snapshot() if flow.job_id in key] == []


def test_a_flow_that_is_there_is_a_duplicate_and_stays_as_it_is(scene: Scene) -> None:
    flow = add(scene, job(), job())
    complete(scene, scene.claim())
    scene.claim()
    before = scene.snapshot()

    assert Flows(scene.wire).add(flow) is Admission.DUPLICATE

    assert scene.snapshot() == before


def test_a_flow_that_has_ended_is_a_duplicate_while_its_receipt_lives(scene: Scene) -> None:
    flow = add(scene, job())
    complete(scene, scene.claim())
    held = scene.claim()
    scene.queue.complete(held, Retention(mark=mark(flow.payload), receipt_ms=60_000))
    before = scene.snapshot()

    assert Flows(scene.wire).add(flow) is Admission.DUPLICATE

    assert scene.snapshot() == before


def test_a_parent_s_id_that_is_another_job_s_is_a_collision_and_nothing_is_written(
    scene: Scene,
) -> None:
    taken = scene.enqueue(b"another")
    before = scene.snapshot()

    with pytest.raises(IdCollision) as refused:
        Flows(scene.wire).add(replace(job(job(), queue=scene.name), job_id=taken))

    assert refused.value.job_id == taken
    assert scene.snapshot() == before


def test_a_child_s_id_that_is_another_job_s_is_a_collision_and_nothing_is_written(
    scene: Scene,
) -> None:
    taken = scene.enqueue(b"another")
    before = scene.snapshot()

    with pytest.raises(IdCollision) as refused:
        Flows(scene.wire).add(job(job(), replace(job(), job_id=taken), queue=scene.name))

    assert refused.value.job_id == taken
    assert scene.snapshot() == before


def test_a_new_life_of_a_parent_s_id_knows_nothing_of_the_children_of_the_old_one(
    scene: Scene,
) -> None:
    flow = add(scene, job())
    complete(scene, scene.claim())
    scene.client.delete(scene.keys.row(flow.job_id))
    scene.client.zrem(scene.keys.pending, flow.job_id)
    again = replace(flow, children=(job(),))

    assert Flows(scene.wire).add(again) is Admission.ADMITTED

    assert ends(scene, flow.job_id, "processed") == {}
    assert left(scene, flow.job_id) == 1


def test_children_on_another_queue_are_claimable_there_and_know_their_parent_s_queue(
    scene: Scene,
) -> None:
    far = Scene(scene.client, FAR)
    near, distant = job(), job(queue=FAR)

    flow = add(scene, near, distant)

    assert left(scene, flow.job_id) == 2
    assert scene.members("pending") == [near.job_id]
    assert far.members("pending") == [distant.job_id]
    assert far.fields(distant.job_id, "parent", "parent_queue") == [flow.job_id, scene.name]
    assert scene.fields(near.job_id, "parent", "parent_queue") == [flow.job_id, None]


def test_a_flow_that_comes_back_to_its_first_queue_is_held_on_each_level(scene: Scene) -> None:
    far = Scene(scene.client, FAR)
    leaf = job(queue=scene.name)
    middle = job(leaf, queue=FAR)

    flow = add(scene, middle)

    assert scene.queue.state(flow.job_id) is State.AWAITING_CHILDREN
    assert far.queue.state(middle.job_id) is State.AWAITING_CHILDREN
    assert scene.members("pending") == [leaf.job_id]
    assert scene.fields(leaf.job_id, "parent", "parent_queue") == [middle.job_id, FAR]


def test_a_flow_whose_admission_stopped_half_way_goes_on_when_it_is_sent_again(
    scene: Scene,
) -> None:
    far = Scene(scene.client, FAR)
    distant = job(queue=FAR)
    flow = job(job(), distant, queue=scene.name)
    scene.client.set(far.keys.pending, "x")
    with pytest.raises(WrongType):
        Flows(scene.wire).add(flow)
    assert scene.queue.state(flow.job_id) is State.AWAITING_CHILDREN
    far.client.delete(far.keys.pending)

    assert Flows(scene.wire).add(flow) is Admission.ADMITTED
    assert Flows(scene.wire).add(flow) is Admission.DUPLICATE

    assert far.members("pending") == [distant.job_id]
    assert left(scene, flow.job_id) == 2


def test_a_flow_whose_parent_waits_no_more_sends_no_child_again(scene: Scene) -> None:
    far = Scene(scene.client, FAR)
    flow = add(scene, job(queue=FAR))
    far.queue.complete(far.claim())
    Flows(scene.wire).carry(FAR)
    assert scene.queue.state(flow.job_id) is State.PENDING

    assert Flows(scene.wire).add(flow) is Admission.DUPLICATE

    assert far.members("pending") == []


@pytest.mark.parametrize("place", ["parent", "child", "far child"])
def test_another_kind_anywhere_in_a_flow_is_refused_before_any_wire(
    scene: Scene, place: str
) -> None:
    order = replace(job(), job_id=ORDER)
    flows = {
        "parent": replace(job(job(), queue=scene.name), job_id=ORDER),
        "child": job(job(), order, queue=scene.name),
        "far child": job(job(), replace(order, queue=FAR), queue=scene.name),
    }

    with pytest.raises(WrongKind):
        Flows(scene.wire).add(flows[place])

    assert not scene.client.exists(VERSION)


def test_the_script_has_a_kind_gate_of_its_own(scene: Scene) -> None:
    parts = [FlowPart(new_id(), b"p", children=1), FlowPart(ORDER, b"c")]

    with pytest.raises(WrongKind):
        scene.run(calls.flow_add(scene.keys, parts))

    assert scene.snapshot() == {}


def deep(levels: int) -> FlowJob:
    below = job()
    for _ in range(levels - 2):
        below = job(below)
    return job(below, queue="q")


WRONG: dict[str, tuple[FlowJob, str]] = {
    "no children": (job(queue="q"), "a flow's parent has children and 'JOB.{11}' none: enqueue it"),
    "no queue": (job(job()), "the top of a flow names its queue and 'JOB.{11}' names none"),
    "too deep": (deep(9), "a flow has at most 8 levels; 'JOB.{11}' is below"),
    "too many": (
        job(*(job() for _ in range(500)), queue="q"),
        "a flow has at most 500 jobs; this one has more",
    ),
    "twice": (
        job(*[job()] * 2, queue="q"),
        "a job stands once in a flow; 'JOB.{11}' stands there twice",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_flow_is_refused_before_any_wire(scene: Scene, what: str) -> None:
    flow, sentence = WRONG[what]

    with pytest.raises(InvalidInput, match=sentence):
        Flows(scene.wire).add(flow)

    assert not scene.client.exists(VERSION)


def test_a_malformed_id_in_a_flow_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidJobId):
        Flows(scene.wire).add(job(replace(job(), job_id="nope"), queue=scene.name))

    assert not scene.client.exists(VERSION)


def test_a_flow_of_eight_levels_and_one_of_five_hundred_jobs_are_taken(scene: Scene) -> None:
    wide = job(*(job() for _ in range(499)), queue=scene.name)

    assert Flows(scene.wire).add(deep(8)) is Admission.ADMITTED
    assert Flows(scene.wire).add(wide) is Admission.ADMITTED

    assert len(scene.members("pending")) == 500


def test_a_call_of_no_part_is_refused(scene: Scene) -> None:
    with pytest.raises(InvalidInput, match="a flow has 1 to 500 jobs on a queue; got 0"):
        calls.flow_add(scene.keys, [])


def test_of_many_flows_each_is_judged_for_itself(scene: Scene) -> None:
    taken = scene.enqueue(b"another")
    there = add(scene, job())
    good, other = job(job(), queue=scene.name), job(job(queue=FAR), queue=scene.name)
    flows = [
        good,
        job(replace(job(), job_id=taken), queue=scene.name),
        there,
        job(queue=scene.name),
        other,
    ]

    verdicts = Flows(scene.wire).add_many(flows)

    assert [one if isinstance(one, Admission) else type(one) for one in verdicts] == [
        Admission.ADMITTED,
        IdCollision,
        Admission.DUPLICATE,
        InvalidInput,
        Admission.ADMITTED,
    ]
    assert [scene.queue.state(flow.job_id) for flow in flows] == [
        State.AWAITING_CHILDREN,
        State.ABSENT,
        State.AWAITING_CHILDREN,
        State.ABSENT,
        State.AWAITING_CHILDREN,
    ]


def test_no_flows_are_no_round_trip(scene: Scene) -> None:
    assert Flows(scene.wire).add_many([]) == []
    assert not scene.client.exists(VERSION)


def test_more_flows_than_one_round_trip_takes_are_all_admitted(scene: Scene) -> None:
    flows = [job(*(job() for _ in range(99)), queue=scene.name) for _ in range(6)]

    verdicts: list[Admission | EchoMQError] = Flows(scene.wire).add_many(flows)

    assert verdicts == [Admission.ADMITTED] * 6
    assert len(scene.members("pending")) == 594
