from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import MAX_ERROR_BYTES, SUBKEY_MS, Retention, capped_error
from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.states import Retried, State
from echomq_app.service.records import Lease
from tests.foreign.flows import enqueue_child, fail_policy, flow_add, hold_parent
from tests.protocol.lanes import Books, books, held_in_lane
from tests.protocol.scene import Scene, new_id

MINUTE = timedelta(minutes=1)


def fail(scene: Scene, held: Lease, most: int = 3, report: bytes | None = None) -> Retried:
    """The job fails; ``most`` attempts are allowed."""
    return scene.queue.retry(held, delay=MINUTE, max_attempts=most, error="boom", report=report)


def test_a_job_with_attempts_left_is_parked_with_its_error(scene: Scene) -> None:
    held = scene.held(label="w1")
    before = scene.server_ms()

    assert fail(scene, held) is Retried.SCHEDULED

    assert scene.places(held.job_id) == ["schedule"]
    score = scene.score("schedule", held.job_id)
    assert score is not None
    assert before + 60_000 <= score <= scene.server_ms() + 60_000
    assert scene.fields(held.job_id, "state", "attempts", "last_error", "settled") == [
        "scheduled",
        "1",
        "boom",
        "1 retry w1",
    ]


def test_attempts_2_against_max_2_is_the_morgue(scene: Scene) -> None:
    first = scene.held()
    assert fail(scene, first, most=2) is Retried.SCHEDULED
    scene.fall_due(first.job_id)
    scene.queue.promote()

    assert fail(scene, scene.claim(), most=2) is Retried.DEAD

    assert scene.places(first.job_id) == ["dead"]
    assert scene.score("dead", first.job_id) == 0
    assert scene.fields(first.job_id, "state", "attempts", "last_error") == ["dead", "2", "boom"]
    assert scene.queue.facts().counts.failed == 1


def test_max_attempts_of_none_buries_at_once(scene: Scene) -> None:
    held = scene.held()

    assert fail(scene, held, most=0) is Retried.DEAD


def test_ten_releases_then_one_failure_at_three_attempts_is_not_dead(scene: Scene) -> None:
    scene.enqueue()
    for _ in range(10):
        scene.queue.release(scene.claim())
    held = scene.claim()
    assert (held.token, held.attempt) == (11, 1)

    assert fail(scene, held) is Retried.SCHEDULED

    for verdict in (Retried.SCHEDULED, Retried.DEAD):
        scene.fall_due(held.job_id)
        scene.queue.promote()
        assert fail(scene, scene.claim()) is verdict


def test_an_excused_that_is_no_number_excuses_nothing(scene: Scene) -> None:
    held = scene.held()
    scene.client.hset(scene.keys.row(held.job_id), "excused", "x")

    assert fail(scene, held, most=1) is Retried.DEAD


def test_a_lapse_counts_as_an_attempt(scene: Scene) -> None:
    scene.reaped(scene.held())

    assert fail(scene, scene.claim(), most=2) is Retried.DEAD


def test_a_late_failure_takes_the_job_out_of_pending(scene: Scene) -> None:
    held = scene.reaped(scene.held())

    assert fail(scene, held) is Retried.SCHEDULED

    assert scene.places(held.job_id) == ["schedule"]


def test_the_newest_ten_reports_are_kept_and_not_for_ever(scene: Scene) -> None:
    held = scene.held()
    for number in range(12):
        fail(scene, held, most=99, report=f"{number}".encode())
        scene.fall_due(held.job_id)
        scene.queue.promote()
        held = scene.claim()

    key = scene.keys.errors(held.job_id)
    assert scene.client.lrange(key, 0, -1) == [f"{number}".encode() for number in range(11, 1, -1)]
    assert 0 < scene.client.pttl(key) <= SUBKEY_MS


def test_a_long_error_keeps_its_head_and_its_tail(scene: Scene) -> None:
    held = scene.held()
    error = "head" + "é" * 20_000 + "tail"

    scene.queue.retry(held, delay=MINUTE, max_attempts=3, error=error)

    (kept,) = scene.fields(held.job_id, "last_error")
    assert kept == capped_error(error)
    assert kept is not None
    assert kept.startswith("headé")
    assert kept.endswith("étail")
    assert "\n[...]\n" in kept
    assert len(kept.encode()) <= MAX_ERROR_BYTES
    assert capped_error("short") == "short"


def test_a_dead_job_has_no_outcome_beside_its_row(scene: Scene) -> None:
    held = scene.held()
    scene.queue.complete(
        held, Retention(mark="m", receipt_ms=60_000, outcome=b"{}", result_ms=60_000, limit=9)
    )
    scene.client.delete(scene.keys.result(held.job_id))
    scene.enqueue(job_id=held.job_id)

    fail(scene, scene.claim(), most=1)

    assert scene.members("done") == scene.members("expire") == scene.members("outcomes") == []


def test_dead_jobs_browse_in_mint_order(scene: Scene) -> None:
    jobs = [scene.held() for _ in range(3)]

    for held in reversed(jobs):
        fail(scene, held, most=1)

    assert scene.members("dead") == [held.job_id for held in jobs]


@pytest.mark.parametrize("most", [1, 3])
def test_a_failure_makes_room_in_its_lane(scene: Scene, most: int) -> None:
    held = held_in_lane(scene)
    scene.run(
        calls.retry(
            scene.keys, held.job_id, held.token, delay_ms=0, max_attempts=most, error="boom"
        )
    )

    assert books(scene) == Books((), 0, False)
    assert scene.places(held.job_id) == ["dead" if most == 1 else "schedule"]


def test_a_dead_child_fails_its_parent(scene: Scene) -> None:
    parent, child, other = new_id(), new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {child: "c", other: "o"})

    assert fail(scene, scene.claim(), most=1) is Retried.DEAD

    assert scene.places(parent) == ["dead"]
    assert scene.queue.state(parent) is State.DEAD
    assert scene.client.hgetall(scene.keys.row(parent) + ":failed") == {child.encode(): b"boom"}
    assert scene.places(other) == ["pending"]


def test_a_child_whose_death_is_ignored_counts_as_settled_and_once(scene: Scene) -> None:
    parent, child = new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {child: "c", new_id(): "o"})
    fail_policy(scene.client, scene.name, child, "id")
    held = scene.claim()

    fail(scene, held, most=1)
    scene.queue.requeue(child)
    fail(scene, scene.claim(), most=1)

    row = scene.keys.row(parent)
    assert scene.client.get(row + ":dependencies") == b"1"
    assert scene.client.hkeys(row + ":unsuccessful") == [child.encode()]
    assert scene.queue.state(parent) is State.AWAITING_CHILDREN


def test_a_dead_child_of_another_queue_tells_its_parent_through_the_outbox(scene: Scene) -> None:
    parent, child = new_id(), new_id()
    hold_parent(scene.client, "other", parent, "p", 1)
    enqueue_child(scene.client, scene.name, (child, "c"), parent, "other")
    fail_policy(scene.client, scene.name, child, "id")

    fail(scene, scene.claim(), most=1)

    (entry,) = scene.client.lrange(scene.key("flow:outbox"), 0, -1)
    assert entry.decode().split("\0") == ["", "fail", "other", parent, child, "id", "boom"]


def test_a_failure_with_attempts_left_tells_no_parent(scene: Scene) -> None:
    parent, child = new_id(), new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {child: "c"})

    fail(scene, scene.claim())

    assert scene.queue.state(parent) is State.AWAITING_CHILDREN
    assert not scene.client.exists(scene.keys.row(parent) + ":failed")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "delay_ms",
            "a delay in milliseconds is a whole number from 0 to 9007199254740991; got -1",
        ),
        ("max_attempts", "max_attempts is a whole number from 0 to 9007199254740991; got -1"),
    ],
)
def test_a_number_below_zero_is_refused_before_any_wire(
    scene: Scene, name: str, sentence: str
) -> None:
    numbers = {"delay_ms": 0, "max_attempts": 3} | {name: -1}

    with pytest.raises(InvalidInput) as refused:
        calls.retry(
            scene.keys,
            new_id(),
            1,
            delay_ms=numbers["delay_ms"],
            max_attempts=numbers["max_attempts"],
            error="boom",
        )

    assert str(refused.value) == sentence
