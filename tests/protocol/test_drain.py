from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls, replies
from echomq_app.protocol.errors import InvalidInput, WrongType
from echomq_app.protocol.states import Admission, State
from echomq_app.service import housekeeping
from tests.foreign.flows import flow_add
from tests.foreign.lanes import LaneKeys, lane_pause
from tests.protocol.lanes import GROUP, OTHER, Books, books, held_in_lane, laned
from tests.protocol.scene import LONG, Scene, new_id

MINUTE = timedelta(minutes=1)


def scheduled(scene: Scene) -> str:
    job_id = new_id()
    scene.queue.schedule_in(job_id, b"w", LONG)
    return job_id


def test_what_waits_ends_and_what_runs_goes_on(scene: Scene) -> None:
    held, dead = scene.held(), scene.dead()
    parked = scheduled(scene)
    waiting = [scene.enqueue() for _ in range(3)]

    assert scene.queue.drain() == 3

    assert scene.members("pending") == []
    assert [scene.row(job_id) for job_id in waiting] == [{}] * 3
    assert scene.queue.state(held.job_id) is State.ACTIVE
    assert scene.queue.state(dead) is State.DEAD
    assert scene.queue.state(parked) is State.SCHEDULED


def test_what_is_parked_until_an_instant_ends_when_that_is_asked_for(scene: Scene) -> None:
    parked = scheduled(scene)

    assert scene.queue.drain(scheduled=True) == 1

    assert scene.queue.state(parked) is State.ABSENT


def test_nothing_of_a_drained_job_remains(scene: Scene) -> None:
    job_id = scene.enqueue()
    scene.queue.add_log(job_id, "line")
    scene.client.lpush(scene.keys.errors(job_id), "{}")
    scene.queue.dedup("once", job_id, LONG)
    scene.client.delete(scene.keys.wake)

    scene.queue.drain()

    assert scene.snapshot() == {}


def test_lanes_are_drained_and_their_jobs_that_run_keep_their_slots(scene: Scene) -> None:
    held_in_lane(scene)
    laned(scene)
    laned(scene, OTHER)
    lane_pause(scene.client, scene.name, OTHER)

    assert scene.queue.drain() == 2

    assert books(scene) == Books((), 1, False)
    assert books(scene, OTHER) == Books((), 0, False)
    assert scene.client.sismember(LaneKeys(scene.name).paused, OTHER)


def test_a_lane_at_its_ceiling_that_no_ring_holds_is_found(scene: Scene) -> None:
    held_in_lane(scene)
    scene.client.hset(LaneKeys(scene.name).glimit, GROUP, 1)
    laned(scene)
    assert not books(scene).ringed

    assert scene.queue.drain() == 1


def test_many_jobs_are_drained_in_bounded_pages(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "DRAIN_BATCH", 4)
    for _ in range(9):
        scene.enqueue()
        laned(scene)

    assert scene.run(calls.drain(scene.keys, 4)) == 4
    assert scene.queue.drain(most=5) == 5
    assert scene.queue.drain() == 9
    assert scene.queue.facts().counts.laned == 0


def test_ghosts_go_and_so_do_rows_that_are_no_hash(scene: Scene) -> None:
    ghost, bad = new_id(), new_id()
    scene.client.zadd(scene.keys.pending, {ghost: 0, bad: 0})
    scene.client.set(scene.keys.row(bad), "x")

    assert scene.queue.drain() == 2

    assert scene.snapshot() == {}


def test_a_receipt_keeps_an_admission_that_is_sent_again_from_coming_back(scene: Scene) -> None:
    job_id = scene.enqueue(b'{"meta": {"nonce": "n1"}}')

    scene.queue.drain(receipt_for=MINUTE)

    receipt = replies.receipt(scene.client.get(scene.keys.result(job_id)))
    assert receipt is not None
    assert (receipt.mark, receipt.token) == ("n1", 0)
    assert scene.members("expire") == [job_id]
    again = scene.queue.enqueue(job_id, b'{"meta": {"nonce": "n1"}}')
    assert again is Admission.DUPLICATE


def test_a_parent_of_a_flow_hears_that_its_children_died(scene: Scene) -> None:
    parent, child = new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {child: "c"})

    scene.queue.drain()

    assert scene.places(parent) == ["dead"]
    assert scene.client.hgetall(scene.keys.row(parent) + ":failed") == {child.encode(): b"drained"}


def test_a_parent_that_cannot_be_told_stops_no_drain(scene: Scene) -> None:
    parent, child = new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {child: "c"})
    scene.client.lpush(scene.keys.row(parent) + ":failed", "x")
    behind = scene.enqueue()

    assert scene.queue.drain() == 2

    assert scene.queue.state(behind) is State.ABSENT


def test_a_parent_on_another_queue_is_told_through_the_outbox(scene: Scene) -> None:
    child = scene.enqueue()
    scene.client.hset(
        scene.keys.row(child), mapping={"parent": new_id(), "parent_queue": "elsewhere"}
    )

    scene.queue.drain()

    (entry,) = scene.client.lrange(scene.key("flow:outbox"), 0, -1)
    assert entry.split(b"\0")[1:3] == [b"fail", b"elsewhere"]
    assert entry.endswith(b"drained")


def test_a_page_of_none_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidInput, match="a limit is a whole number from 1"):
        calls.drain(scene.keys, 0)


@pytest.mark.parametrize("book", ["groups", "paused", "gactive", "ring", "schedule", "high"])
def test_a_book_of_another_type_is_refused_with_nothing_drained(scene: Scene, book: str) -> None:
    scene.enqueue()
    scene.client.set(scene.key(book), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.queue.drain()

    assert scene.snapshot() == before
