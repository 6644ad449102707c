from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import IdCollision, InvalidLane, WrongKind, WrongType
from echomq_app.protocol.keyspace import VERSION
from echomq_app.protocol.states import Admission, State
from tests.foreign.lanes import lane_claim
from tests.protocol.lanes import GROUP, OTHER, Books, books, known, laned, turn, waits
from tests.protocol.scene import Scene, new_id


def test_a_job_joins_its_lane_with_four_fields_and_the_lane_joins_the_ring(scene: Scene) -> None:
    job_id = new_id()

    assert scene.lanes.enqueue(GROUP, job_id, b"w") is Admission.ADMITTED

    assert scene.row(job_id) == {
        "state": "pending",
        "attempts": "0",
        "payload": "w",
        "group": GROUP,
    }
    assert scene.places(job_id) == [f"g:{GROUP}:pending"]
    assert books(scene) == Books((job_id,), 0, True)
    assert scene.queue.state(job_id) is State.PENDING
    assert (known(scene), scene.wakes()) == ({GROUP}, 1)


def test_a_second_job_of_a_lane_in_the_ring_wakes_nobody_anew(scene: Scene) -> None:
    first, second = waits(scene, count=2)

    assert books(scene) == Books((first, second), 0, True)
    assert scene.wakes() == 1


def test_a_lane_is_served_in_mint_order_whatever_the_order_of_admission(scene: Scene) -> None:
    older, newer = new_id(), new_id()
    scene.lanes.enqueue(GROUP, newer, b"w")
    scene.lanes.enqueue(GROUP, older, b"w")

    assert [held.job_id for held in turn(scene, 2)] == [older, newer]


def test_another_program_serves_what_we_admitted_and_finds_our_books_in_order(scene: Scene) -> None:
    (job_id,) = waits(scene)

    held = lane_claim(scene.client, scene.name)

    assert held is not None
    assert (held.job_id, held.payload, held.token, held.group) == (job_id, b"w", 1, GROUP)


@pytest.mark.parametrize("lane", [GROUP, OTHER])
def test_a_duplicate_changes_nothing_in_whichever_lane(scene: Scene, lane: str) -> None:
    (job_id,) = waits(scene)
    before = scene.snapshot()

    assert scene.lanes.enqueue(lane, job_id, b"w") is Admission.DUPLICATE

    assert scene.snapshot() == before


def test_another_job_under_the_id_is_a_collision(scene: Scene) -> None:
    (job_id,) = waits(scene)

    with pytest.raises(IdCollision):
        scene.lanes.enqueue(GROUP, job_id, b"another")


def test_a_receipt_keeps_an_ended_job_from_coming_back(scene: Scene) -> None:
    waits(scene)
    (held,) = turn(scene)
    scene.queue.complete(held, Retention(mark="m", receipt_ms=60_000))

    with pytest.raises(IdCollision):
        scene.lanes.enqueue(GROUP, held.job_id, b"w")

    assert books(scene) == Books((), 0, False)


def test_without_the_receipt_s_key_only_the_row_counts(scene: Scene) -> None:
    job_id = new_id()
    scene.client.set(scene.keys.result(job_id), "m 1 1 w")
    call = calls.lane_enqueue(scene.keys, GROUP, job_id, b"w")
    assert call.script is not None

    assert scene.client.eval(call.script.text, 2, *call.keys[:2], *call.args) == 1


def test_the_kind_is_judged_first_of_all(scene: Scene) -> None:
    scene.client.set(scene.keys.ring, "x")

    with pytest.raises(WrongKind):
        scene.lanes.enqueue(GROUP, "ORD0KHTOWnGLuC", b"w")


def test_a_parked_lane_takes_jobs_and_stays_out_of_the_ring(scene: Scene) -> None:
    scene.lanes.pause(GROUP)

    (job_id,) = waits(scene)

    assert books(scene) == Books((job_id,), 0, False)
    assert (known(scene), scene.wakes()) == ({GROUP}, 0)


def test_a_lane_at_its_ceiling_takes_jobs_and_stays_out_of_the_ring(scene: Scene) -> None:
    scene.lanes.limit(GROUP, 1)
    waits(scene)
    turn(scene)

    (job_id,) = waits(scene)

    assert books(scene) == Books((job_id,), 1, False)


@pytest.mark.parametrize("kind", ["ring", "paused", "glimit", "gactive", f"g:{GROUP}:pending"])
def test_books_of_another_type_refuse_with_nothing_written(scene: Scene, kind: str) -> None:
    scene.client.set(scene.key(kind), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.lanes.enqueue(GROUP, new_id(), b"w")

    assert scene.snapshot() == before


@pytest.mark.parametrize("kind", ["groups", "wake"])
def test_books_that_only_tell_do_not_stop_an_admission(scene: Scene, kind: str) -> None:
    scene.client.set(scene.key(kind), "x")

    (job_id,) = waits(scene)

    assert books(scene) == Books((job_id,), 0, True)


@pytest.mark.parametrize(
    "lane", ["", "shop", "prt0JZGkPbGj4a", GROUP + "x", GROUP[:-1] + "é", f"{GROUP[:-1]}\n", None]
)
def test_a_lane_is_named_by_a_branded_id_and_by_nothing_else(scene: Scene, lane: str) -> None:
    with pytest.raises(InvalidLane) as refused:
        scene.lanes.enqueue(lane, new_id(), b"w")

    assert str(refused.value) == (
        "a lane is named by a branded id: three letters A-Z and eleven base62 digits, such as "
        f"the id of the customer whose jobs share it; got {lane!r}"
    )
    assert not scene.client.exists(VERSION)


@pytest.mark.parametrize("lane", ["JOB0KHTOWnGLuC", "USR0KHTOWnGLuC", "ORD00000000000"])
def test_an_id_of_any_namespace_names_a_lane(scene: Scene, lane: str) -> None:
    (job_id,) = waits(scene, lane)

    assert books(scene, lane) == Books((job_id,), 0, True)


def test_an_id_is_minted_for_a_job_that_brings_none(scene: Scene) -> None:
    job_id = scene.lanes.enqueue_new(GROUP, b"w")

    assert books(scene) == Books((job_id,), 0, True)


def test_a_lane_that_another_program_fills_is_ours_too(scene: Scene) -> None:
    foreign, ours = laned(scene), waits(scene)[0]

    assert [held.job_id for held in turn(scene, 2)] == [foreign, ours]
