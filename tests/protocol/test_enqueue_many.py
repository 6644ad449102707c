from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import MAX_BULK_BYTES, Retention, bulk_chunks
from echomq_app.protocol.errors import InvalidInput, InvalidJobId
from echomq_app.protocol.states import Admission
from tests.protocol.scene import Scene, new_id

ORDER = "ORD0KHTOWnGLuC"


def test_each_job_is_judged_for_itself_in_the_order_given(scene: Scene) -> None:
    fresh, taken = new_id(), scene.enqueue(b"old")

    verdicts = scene.run(
        calls.enqueue_many(scene.keys, [(fresh, b"a"), (taken, b"b"), (ORDER, b"c"), (fresh, b"d")])
    )

    assert verdicts == [
        Admission.ADMITTED,
        Admission.DUPLICATE,
        Admission.WRONG_KIND,
        Admission.DUPLICATE,
    ]
    assert scene.fields(fresh, "payload") == ["a"]
    assert scene.fields(taken, "payload") == ["old"]
    assert scene.row(ORDER) == {}


def test_a_bulk_leaves_the_rows_that_single_admissions_leave(scene: Scene) -> None:
    jobs = [new_id() for _ in range(3)]

    scene.run(calls.enqueue_many(scene.keys, [(job_id, b"w") for job_id in jobs]))

    assert scene.members("pending") == jobs
    assert all(
        scene.row(job_id) == {"state": "pending", "attempts": "0", "payload": "w"}
        for job_id in jobs
    )


def test_a_bulk_wakes_as_many_as_it_admits_up_to_64(scene: Scene) -> None:
    taken = scene.enqueue()
    scene.client.delete(scene.keys.wake)

    scene.run(calls.enqueue_many(scene.keys, [(taken, b"w"), (new_id(), b"w"), (new_id(), b"w")]))
    assert scene.wakes() == 2

    scene.run(calls.enqueue_many(scene.keys, [(new_id(), b"w") for _ in range(100)]))
    assert scene.wakes() == 64


def test_an_ended_job_is_not_admitted_again_while_its_receipt_lives(scene: Scene) -> None:
    held = scene.held()
    scene.queue.complete(held, Retention(mark="m", receipt_ms=60_000))

    verdicts = scene.run(calls.enqueue_many(scene.keys, [(held.job_id, b"w"), (new_id(), b"w")]))

    assert verdicts == [Admission.DUPLICATE, Admission.ADMITTED]


def test_a_taken_id_with_another_payload_is_told_apart_from_one_s_own(scene: Scene) -> None:
    mine, theirs, fresh = scene.enqueue(b"mine"), scene.enqueue(b"theirs"), new_id()

    verdicts = scene.queue.enqueue_many([(mine, b"mine"), (theirs, b"mine"), (fresh, b"w")])

    assert verdicts == [Admission.DUPLICATE, Admission.COLLISION, Admission.ADMITTED]
    assert scene.fields(theirs, "payload") == ["theirs"]


def test_more_than_500_go_out_in_as_many_calls_as_they_need(scene: Scene) -> None:
    jobs = [(new_id(), b"w") for _ in range(1001)]

    assert scene.queue.enqueue_many(jobs) == [Admission.ADMITTED] * 1001
    assert scene.members("pending") == [job_id for job_id, _ in jobs]
    assert [len(chunk) for chunk in bulk_chunks(jobs)] == [500, 500, 1]


def test_a_chunk_carries_at_most_a_mebibyte_but_never_splits_a_job() -> None:
    half = b"x" * (MAX_BULK_BYTES // 2)
    jobs = [(new_id(), payload) for payload in (half, half, b"y", b"x" * (2 * MAX_BULK_BYTES))]

    assert [len(chunk) for chunk in bulk_chunks(jobs)] == [2, 1, 1]
    assert bulk_chunks([]) == []


@pytest.mark.parametrize("count", [0, 501])
def test_a_call_of_none_or_of_too_many_is_refused(scene: Scene, count: int) -> None:
    jobs = [(new_id(), b"w") for _ in range(count)]

    with pytest.raises(InvalidInput, match=f"enqueue 1 to 500 jobs in one call; got {count}"):
        calls.enqueue_many(scene.keys, jobs)


def test_one_malformed_id_stops_the_bulk_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidJobId):
        scene.queue.enqueue_many([(new_id(), b"w"), ("nope", b"w")])

    assert scene.snapshot() == {}
