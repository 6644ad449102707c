from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, WrongType
from echomq_app.protocol.outbox import Told, read_entry
from echomq_app.protocol.states import Fate, State
from echomq_app.service.flow_plans import Carried, carry
from echomq_app.service.flows import Flows
from tests.protocol.flows import FAR, add, bury, complete, ends, job, left
from tests.protocol.scene import Scene, new_id


@pytest.fixture
def far(scene: Scene) -> Scene:
    """The queue of the children; their parents are on the scene's."""
    return Scene(scene.client, FAR)


def outbox(scene: Scene) -> list[bytes]:
    found: list[bytes] = scene.client.lrange(scene.keys.outbox, 0, -1)
    return found


def test_what_was_carried_leaves_and_what_came_meanwhile_stays(scene: Scene) -> None:
    scene.client.rpush(scene.keys.outbox, "one", "two", "three")

    assert scene.run(calls.flow_sweep(scene.keys, [b"one", b"two", b"gone"])) == 2

    assert outbox(scene) == [b"three"]
    assert not scene.client.exists(scene.keys.aside)


def test_of_entries_that_read_the_same_one_sweep_takes_one(scene: Scene) -> None:
    scene.client.rpush(scene.keys.outbox, "one", "one")

    scene.run(calls.flow_sweep(scene.keys, [b"one"]))

    assert outbox(scene) == [b"one"]


def test_what_nobody_can_carry_is_kept_aside_the_newest_hundred(scene: Scene) -> None:
    entries = [b"e%d" % number for number in range(120)]
    scene.client.rpush(scene.keys.outbox, *entries)

    scene.run(calls.flow_sweep(scene.keys, [], entries))

    assert outbox(scene) == []
    assert scene.client.lrange(scene.keys.aside, 0, -1) == entries[20:]


def test_the_end_of_a_child_elsewhere_waits_until_it_is_carried(scene: Scene, far: Scene) -> None:
    flow = add(scene, job(queue=FAR), job())
    complete(scene, scene.claim())
    child = far.claim()
    complete(far, child, b"far \0 \xff")
    assert scene.queue.state(flow.job_id) is State.AWAITING_CHILDREN

    assert Flows(scene.wire).carry(FAR) == Carried(1, 0)
    assert Flows(scene.wire).carry(FAR) == Carried(0, 0)

    assert outbox(far) == []
    assert scene.claim().job_id == flow.job_id
    values = Flows(scene.wire).children(scene.name, flow.job_id).values
    assert values[child.job_id] == b"far \0 \xff"


def test_an_entry_that_is_delivered_twice_counts_once(scene: Scene, far: Scene) -> None:
    flow = add(scene, job(queue=FAR), job(queue=FAR))
    complete(far, far.claim())
    (entry,) = outbox(far)
    Flows(scene.wire).carry(FAR)
    scene.client.rpush(far.keys.outbox, entry)

    assert Flows(scene.wire).carry(FAR) == Carried(1, 0)

    assert left(scene, flow.job_id) == 1


def test_an_entry_that_names_no_parent_stops_none_behind_it(scene: Scene, far: Scene) -> None:
    flow = add(scene, job(queue=FAR))
    wrong = [
        b"",
        b"x",
        b"q\0nope\0c\0r",
        b"a{b}\0" + new_id().encode() + b"\0c\0r",
        b"\0lost\0a\0b",
    ]
    scene.client.rpush(far.keys.outbox, *wrong)
    complete(far, far.claim())

    assert Flows(scene.wire).carry(FAR) == Carried(6, 5)

    assert scene.queue.state(flow.job_id) is State.PENDING
    assert scene.client.lrange(far.keys.aside, 0, -1) == wrong
    assert outbox(far) == []


def test_a_parent_s_queue_that_cannot_be_told_keeps_its_entries_and_no_others(
    scene: Scene, far: Scene
) -> None:
    spoilt = Scene(scene.client, "spoilt")
    stuck, flow = add(spoilt, job(queue=FAR)), add(scene, job(queue=FAR))
    for _ in range(2):
        complete(far, far.claim())
    scene.client.set(spoilt.keys.dead, "x")

    with pytest.raises(WrongType):
        Flows(scene.wire).carry(FAR)

    assert scene.queue.state(flow.job_id) is State.PENDING
    (entry,) = outbox(far)
    assert entry.startswith(b"spoilt\0" + stuck.job_id.encode())
    scene.client.delete(spoilt.keys.dead)
    assert Flows(scene.wire).carry(FAR) == Carried(1, 0)
    assert spoilt.queue.state(stuck.job_id) is State.PENDING


def test_two_who_carry_the_same_entries_lose_none(scene: Scene, far: Scene) -> None:
    flow = add(scene, *(job(queue=FAR) for _ in range(3)))
    for _ in range(2):
        complete(far, far.claim())
    slow = carry(far.keys, 100)
    asked = next(slow)
    answers = scene.wire.answer(asked)
    Flows(scene.wire).carry(FAR)
    complete(far, far.claim())

    asked = slow.send(answers)
    asked = slow.send(scene.wire.answer(asked))
    with pytest.raises(StopIteration):
        slow.send(scene.wire.answer(asked))

    assert len(outbox(far)) == 1
    assert left(scene, flow.job_id) == 1
    Flows(scene.wire).carry(FAR)
    assert scene.queue.state(flow.job_id) is State.PENDING


def test_more_entries_than_one_step_takes_are_all_carried(scene: Scene, far: Scene) -> None:
    flow = add(scene, *(job(queue=FAR) for _ in range(230)))
    for _ in range(230):
        far.queue.complete(far.claim())

    assert Flows(scene.wire).carry(FAR) == Carried(230, 0)

    assert scene.queue.state(flow.job_id) is State.PENDING


def test_a_death_elsewhere_fails_its_parent_when_it_is_carried(scene: Scene, far: Scene) -> None:
    flow = add(scene, job(queue=FAR))
    child = far.claim()
    bury(far, child, "boom \0 boom")

    Flows(scene.wire).carry(FAR)

    assert scene.places(flow.job_id) == ["dead"]
    assert ends(scene, flow.job_id, "failed") == {child.job_id: "boom \0 boom"}


def test_children_are_read_in_sorts_that_share_no_child(scene: Scene) -> None:
    done, ignored, open_ = job(), job(ignore=True), job()
    flow = add(scene, done, ignored, open_)
    complete(scene, scene.claim(), b"value")
    bury(scene, scene.claim())

    found = Flows(scene.wire).children(scene.name, flow.job_id)

    assert found.left == 1
    assert found.values == {done.job_id: b"value"}
    assert found.ignored == {ignored.job_id: "boom"}
    assert found.failed == {}
    bury(scene, scene.claim())
    found = Flows(scene.wire).children(scene.name, flow.job_id)
    assert found.failed == {open_.job_id: "boom"}


def test_of_a_job_that_waits_for_nobody_no_children_are_known(scene: Scene) -> None:
    found = Flows(scene.wire).children(scene.name, scene.enqueue())

    assert (found.left, found.values, found.failed, found.ignored) == (0, {}, {}, {})


@pytest.mark.parametrize("most", [0, 1001])
def test_to_read_none_or_too_many_entries_is_refused(scene: Scene, most: int) -> None:
    with pytest.raises(InvalidInput, match="how many entries"):
        calls.outbox(scene.keys, most)


PARENT, CHILD = "JOB0JZGkP9jdSK", "JOB0JZGkP9ARCC"


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (f"q\0{PARENT}\0{CHILD}\0r", Told("q", PARENT, CHILD, Fate.DONE, b"r")),
        (f"q\0{PARENT}\0{CHILD}\0", Told("q", PARENT, CHILD, Fate.DONE, b"")),
        (f"\0fail\0q\0{PARENT}\0{CHILD}\0fp\0e\0e", Told("q", PARENT, CHILD, Fate.FAILS, b"e\0e")),
        (f"\0fail\0q\0{PARENT}\0{CHILD}\0id\0e", Told("q", PARENT, CHILD, Fate.IGNORED, b"e")),
        (f"q\0{PARENT}\0{CHILD}", None),
        (f"\0fail\0q\0{PARENT}\0{CHILD}\0fp", None),
        (f"\0done\0q\0{PARENT}\0{CHILD}\0fp\0e", None),
        (f"emq\0{PARENT}\0{CHILD}\0r", None),
    ],
)
def test_an_entry_is_read_as_the_protocol_joins_it(entry: str, told: Told | None) -> None:
    assert read_entry(entry.encode()) == told
