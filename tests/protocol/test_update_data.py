from __future__ import annotations

import pytest

from echomq_app.protocol.errors import Locked, WrongType
from tests.protocol.scene import LONG, Scene, new_id


@pytest.mark.parametrize("place", ["pending", "schedule", "dead"])
def test_the_payload_of_a_job_that_nobody_runs_is_replaced_and_nothing_else(
    scene: Scene, place: str
) -> None:
    job_id = scene.dead() if place == "dead" else new_id()
    if place == "pending":
        scene.enqueue(job_id=job_id)
    if place == "schedule":
        scene.queue.schedule_in(job_id, b"w", LONG)
    before = scene.row(job_id)

    assert scene.queue.update_data(job_id, b"new") is True

    assert scene.row(job_id) == before | {"payload": "new"}
    assert scene.places(job_id) == [place]


def test_the_next_claim_hands_out_the_new_payload(scene: Scene) -> None:
    job_id = scene.enqueue(b"old")

    scene.queue.update_data(job_id, b"\x00\xff new")

    assert scene.claim().payload == b"\x00\xff new"


def test_what_is_gone_answers_so_and_no_row_is_made(scene: Scene) -> None:
    assert scene.queue.update_data(new_id(), b"new") is False

    assert scene.snapshot() == {}


def test_a_job_that_runs_keeps_the_payload_that_its_worker_has(scene: Scene) -> None:
    held = scene.held(b"old")
    before = scene.snapshot()

    with pytest.raises(Locked, match="EMQLOCK somebody runs the job"):
        scene.queue.update_data(held.job_id, b"new")

    assert scene.snapshot() == before


def test_after_a_lapse_that_was_reaped_the_payload_can_be_replaced(scene: Scene) -> None:
    lapsed = scene.reaped(scene.held(b"old"))

    assert scene.queue.update_data(lapsed.job_id, b"new") is True

    assert scene.claim().payload == b"new"


def test_a_row_that_is_no_hash_is_refused(scene: Scene) -> None:
    job_id = new_id()
    scene.client.set(scene.keys.row(job_id), "x")

    with pytest.raises(WrongType):
        scene.queue.update_data(job_id, b"new")
