from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import IdCollision, WrongKind
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.states import Admission
from echomq_app.service.queue import Queue
from tests.foreign.seeds import seed_enqueue
from tests.protocol.scene import Scene, new_id

ORDER = "ORD0KHTOWnGLuC"
RECEIPT = Retention(mark="another", receipt_ms=60_000)


def test_enqueue_writes_the_row_of_three_fields_and_the_member(scene: Scene) -> None:
    job_id = new_id()

    assert scene.run(calls.enqueue(scene.keys, job_id, b"hello")) is Admission.ADMITTED

    assert scene.row(job_id) == {"state": "pending", "attempts": "0", "payload": "hello"}
    assert scene.score("pending", job_id) == 0


def test_a_second_enqueue_changes_nothing(scene: Scene) -> None:
    job_id = scene.enqueue(b"first")
    before = scene.snapshot()

    again = scene.run(calls.enqueue(scene.keys, job_id, b"second"))

    assert again is Admission.DUPLICATE
    assert scene.snapshot() == before


def test_another_kind_is_refused_before_any_write(scene: Scene) -> None:
    with pytest.raises(WrongKind, match="EMQKIND job id must be JOB-namespaced"):
        scene.run(calls.enqueue(scene.keys, ORDER, b"w"))

    assert scene.snapshot() == {}


def test_each_admission_leaves_a_wake_token_and_64_are_enough(scene: Scene) -> None:
    scene.enqueue()
    assert scene.wakes() == 1

    for _ in range(70):
        scene.enqueue()

    assert scene.wakes() == 64


def test_a_duplicate_wakes_nobody(scene: Scene) -> None:
    job_id = scene.enqueue()

    scene.run(calls.enqueue(scene.keys, job_id, b"w"))

    assert scene.wakes() == 1


def test_called_as_the_seed_calls_it_it_does_what_the_seed_does(scene: Scene) -> None:
    ours, theirs = new_id(), new_id()
    call = calls.enqueue(scene.keys, ours, b"w")

    assert scene.run(replace(call, keys=call.keys[:2])) is Admission.ADMITTED
    assert seed_enqueue(scene.client, scene.name, theirs, b"w") == 1

    assert scene.row(ours) == scene.row(theirs)
    assert scene.members("pending") == [ours, theirs]
    assert scene.wakes() == 0


def test_our_duplicate_is_the_seed_s_duplicate(scene: Scene) -> None:
    job_id = scene.enqueue()

    assert seed_enqueue(scene.client, scene.name, job_id, b"w") == 0


def test_a_wrong_typed_wake_does_not_fail_the_admission(scene: Scene) -> None:
    scene.client.set(scene.keys.wake, "x")

    job_id = scene.enqueue()

    assert scene.members("pending") == [job_id]


def test_a_receipt_keeps_an_ended_job_from_running_again(scene: Scene) -> None:
    held = scene.held()
    scene.queue.complete(held, RECEIPT)
    before = scene.snapshot()

    resent = scene.run(calls.enqueue(scene.keys, held.job_id, b"w"))

    assert resent is Admission.DUPLICATE
    assert scene.snapshot() == before


def test_without_a_receipt_an_ended_id_may_live_again(scene: Scene) -> None:
    held = scene.held()
    scene.queue.complete(held)

    assert scene.run(calls.enqueue(scene.keys, held.job_id, b"w")) is Admission.ADMITTED


def test_the_same_payload_again_is_a_duplicate(scene: Scene) -> None:
    job_id = new_id()

    assert scene.queue.enqueue(job_id, b"w") is Admission.ADMITTED
    assert scene.queue.enqueue(job_id, b"w") is Admission.DUPLICATE


def test_another_payload_under_a_taken_id_is_a_collision(scene: Scene) -> None:
    job_id = scene.enqueue(b"mine")
    before = scene.snapshot()

    with pytest.raises(IdCollision) as collision:
        scene.queue.enqueue(job_id, b"yours")

    assert scene.snapshot() == before
    assert str(collision.value) == (
        f"job id {job_id} already names another job on queue 'q'; nothing was enqueued: "
        "mint a new id and enqueue again"
    )


def test_the_receipt_of_another_job_is_a_collision_too(scene: Scene) -> None:
    held = scene.held()
    scene.queue.complete(held, RECEIPT)

    with pytest.raises(IdCollision):
        scene.queue.enqueue(held.job_id, b"w")


def test_an_id_that_nobody_has_seen_is_minted_again_on_a_collision(scene: Scene) -> None:
    twin, ours = (Minter(node=3, clock=lambda: 1_780_000_000.0, spread=0) for _ in range(2))
    taken = twin.mint()
    scene.enqueue(b"theirs", job_id=taken)

    admitted = Queue(scene.wire, scene.name, minter=ours).enqueue_new(b"ours")

    assert admitted > taken
    assert scene.fields(taken, "payload") == ["theirs"]
    assert scene.fields(admitted, "payload") == ["ours"]


def test_a_live_job_is_judged_by_its_row_though_a_receipt_lies_beside_it(scene: Scene) -> None:
    held = scene.held(b"first life")
    scene.queue.complete(held, RECEIPT)
    seed_enqueue(scene.client, scene.name, held.job_id, b"second life")

    assert scene.queue.enqueue(held.job_id, b"second life") is Admission.DUPLICATE


def test_a_removed_job_is_not_admitted_again_while_its_receipt_lives(scene: Scene) -> None:
    job_id = scene.enqueue(b"w")
    scene.queue.remove(job_id, receipt_for=timedelta(minutes=1))

    assert scene.queue.enqueue(job_id, b"w") is Admission.DUPLICATE
    assert scene.members("pending") == []
