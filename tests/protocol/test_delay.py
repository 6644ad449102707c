from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, WrongKind
from tests.foreign.lanes import lane_limit
from tests.protocol.lanes import GROUP, Books, books, held_in_lane, laned
from tests.protocol.scene import Scene, new_id


def test_a_delayed_job_is_parked_and_the_claim_does_not_count(scene: Scene) -> None:
    held = scene.held(label="w1")
    before = scene.server_ms()

    scene.queue.delay(held, timedelta(minutes=1))

    assert scene.places(held.job_id) == ["schedule"]
    score = scene.score("schedule", held.job_id)
    assert score is not None
    assert before + 60_000 <= score <= scene.server_ms() + 60_000
    assert scene.fields(held.job_id, "state", "attempts", "excused", "settled") == [
        "scheduled",
        "1",
        "1",
        "1 delay w1",
    ]


def test_an_instant_is_taken_verbatim(scene: Scene) -> None:
    held = scene.held()

    scene.queue.delay(held, datetime(2030, 1, 1, tzinfo=UTC))

    assert scene.score("schedule", held.job_id) == 1_893_456_000_000


def test_the_next_claim_goes_on_counting(scene: Scene) -> None:
    held = scene.held()
    scene.queue.delay(held, timedelta())
    scene.fall_due(held.job_id)
    scene.queue.promote()

    again = scene.claim()

    assert (again.token, again.attempt) == (2, 1)


def test_a_resent_delay_is_heard_as_done(scene: Scene) -> None:
    held = scene.held(label="w1")
    scene.queue.delay(held, timedelta(minutes=1))
    before = scene.snapshot()

    scene.queue.delay(held, timedelta(minutes=2))

    assert scene.snapshot() == before


def test_a_job_of_a_lane_gives_up_its_slot(scene: Scene) -> None:
    lane_limit(scene.client, scene.name, GROUP, 1)
    held = held_in_lane(scene)
    waiting = laned(scene)

    scene.run(calls.delay_in(scene.keys, held.job_id, held.token, 60_000))

    assert books(scene) == Books((waiting,), 0, True)
    assert scene.places(held.job_id) == ["schedule"]


def test_another_kind_is_refused_before_any_look(scene: Scene) -> None:
    with pytest.raises(WrongKind, match="EMQKIND job id must be JOB-namespaced"):
        scene.run(calls.delay_in(scene.keys, "ORD0KHTOWnGLuC", 1, 0))


def test_a_time_below_zero_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidInput, match="a time in milliseconds is a whole number from 0"):
        calls.delay_in(scene.keys, new_id(), 1, -1)
