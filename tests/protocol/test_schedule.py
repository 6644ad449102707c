from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import IdCollision, InvalidInput, InvalidLane, WrongKind
from echomq_app.protocol.states import Admission
from tests.protocol.lanes import GROUP, Books, books
from tests.protocol.scene import LONG, Scene, new_id

NEW_YEAR = datetime(2030, 1, 1, tzinfo=UTC)
NEW_YEAR_MS = 1_893_456_000_000


def test_a_run_at_is_the_callers_own_instant_verbatim(scene: Scene) -> None:
    job_id = new_id()

    assert scene.queue.schedule_at(job_id, b"w", NEW_YEAR) is Admission.ADMITTED

    assert scene.row(job_id) == {"state": "scheduled", "attempts": "0", "payload": "w"}
    assert scene.score("schedule", job_id) == NEW_YEAR_MS
    assert scene.places(job_id) == ["schedule"]


def test_a_run_in_is_counted_on_the_servers_clock(scene: Scene) -> None:
    job_id = new_id()
    before = scene.server_ms()

    scene.queue.schedule_in(job_id, b"w", timedelta(minutes=1))

    score = scene.score("schedule", job_id)
    assert score is not None
    assert before + 60_000 <= score <= scene.server_ms() + 60_000


def test_a_scheduled_job_is_invisible_to_claims_and_wakes_nobody(scene: Scene) -> None:
    scene.queue.schedule_in(new_id(), b"w", timedelta(minutes=1))

    assert scene.queue.claim(timedelta(seconds=1)) is None
    assert scene.queue.claim_many(timedelta(seconds=1), 5) == []
    assert scene.wakes() == 0


def test_a_second_schedule_keeps_the_first_instant(scene: Scene) -> None:
    job_id = new_id()
    scene.queue.schedule_at(job_id, b"w", NEW_YEAR)
    before = scene.snapshot()

    assert scene.queue.schedule_in(job_id, b"w", timedelta()) is Admission.DUPLICATE

    assert scene.snapshot() == before


def test_an_id_that_waits_already_cannot_be_scheduled_too(scene: Scene) -> None:
    job_id = scene.enqueue()

    assert scene.queue.schedule_at(job_id, b"w", NEW_YEAR) is Admission.DUPLICATE
    assert scene.places(job_id) == ["pending"]
    with pytest.raises(IdCollision):
        scene.queue.schedule_at(job_id, b"other", NEW_YEAR)


def test_an_ended_job_is_not_scheduled_again_while_its_receipt_lives(scene: Scene) -> None:
    held = scene.held()
    scene.queue.complete(held, Retention(mark="m", receipt_ms=60_000))

    call = calls.schedule_in(scene.keys, held.job_id, b"w", 0)

    assert scene.run(call) is Admission.DUPLICATE


def test_another_kind_is_refused_before_any_write(scene: Scene) -> None:
    with pytest.raises(WrongKind, match="EMQKIND job id must be JOB-namespaced"):
        scene.queue.schedule_at("ORD0KHTOWnGLuC", b"w", NEW_YEAR)

    assert scene.snapshot() == {}


def test_an_instant_without_a_time_zone_is_refused(scene: Scene) -> None:
    with pytest.raises(InvalidInput) as refused:
        scene.queue.schedule_at(new_id(), b"w", NEW_YEAR.replace(tzinfo=None))

    assert str(refused.value) == (
        "an instant carries its time zone; got the naive 2030-01-01T00:00:00"
    )


@pytest.mark.parametrize("value", [-1, 2**53, 1.5, "1", True])
def test_a_time_that_is_no_whole_number_is_refused_before_any_wire(
    scene: Scene, value: int
) -> None:
    with pytest.raises(InvalidInput, match="a time in milliseconds is a whole number from 0"):
        calls.schedule_in(scene.keys, new_id(), b"w", value)


def test_a_job_of_a_lane_joins_it_when_it_is_due(scene: Scene) -> None:
    job_id = new_id()

    assert scene.lanes.schedule_in(GROUP, job_id, b"w", timedelta()) is Admission.ADMITTED
    assert scene.places(job_id) == ["schedule"]
    assert books(scene) == Books((), 0, False)
    assert scene.fields(job_id, "state", "attempts", "payload", "group") == [
        "scheduled",
        "0",
        "w",
        GROUP,
    ]
    scene.queue.promote()

    assert books(scene) == Books((job_id,), 0, True)
    assert scene.members("pending") == []


def test_a_job_of_a_lane_joins_it_at_an_instant(scene: Scene) -> None:
    job_id, at = new_id(), datetime(2031, 1, 1, tzinfo=UTC)

    assert scene.lanes.schedule_at(GROUP, job_id, b"w", at) is Admission.ADMITTED

    assert scene.score("schedule", job_id) == at.timestamp() * 1000
    assert scene.fields(job_id, "group") == [GROUP]


def test_a_lane_that_is_none_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidLane, match="a lane is named by a branded id"):
        scene.lanes.schedule_in("shop", new_id(), b"w", LONG)
