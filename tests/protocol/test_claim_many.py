from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, InvalidLease, WrongType
from tests.foreign.lanes import lane_enqueue
from tests.protocol.scene import LONG, Scene, new_id

GROUP = "PRT0JZGkPbGj4a"
BROKEN = {
    "a row without a payload": ({"attempts": "0", "state": "pending"}, "no payload or no whole"),
    "a row without attempts": ({"payload": "w", "state": "pending"}, "no payload or no whole"),
    "attempts that are no number": ({"attempts": "x", "payload": "w"}, "no payload or no whole"),
    "negative attempts": ({"attempts": "-1", "payload": "w"}, "no payload or no whole"),
    "more attempts than a number holds": (
        {"attempts": "9" * 16, "payload": "w"},
        "no payload or no whole",
    ),
}


def ghosts(scene: Scene, count: int) -> None:
    """Members without rows, older than anything that comes."""
    scene.client.zadd(scene.keys.pending, {new_id(): 0 for _ in range(count)})


def test_a_batch_is_the_oldest_jobs_oldest_first_under_one_deadline(scene: Scene) -> None:
    jobs = [scene.enqueue() for _ in range(8)]

    held = scene.queue.claim_many(LONG, 4, "w1")

    assert [one.job_id for one in held] == jobs[:4]
    assert {one.token for one in held} == {1}
    assert len({scene.score("active", job_id) for job_id in jobs[:4]}) == 1
    assert scene.members("pending") == jobs[4:]


def test_a_batch_of_one_writes_what_a_claim_with_a_label_writes(scene: Scene) -> None:
    batched, single = scene.enqueue(), scene.enqueue()

    scene.queue.claim_many(LONG, 1, "w1")
    scene.queue.claim(LONG, "w1")

    assert set(scene.row(batched)) == set(scene.row(single))
    assert scene.fields(batched, "state", "attempts", "worker") == ["active", "1", "1 w1"]


def test_without_a_label_neither_worker_nor_time_is_written(scene: Scene) -> None:
    job_id = scene.enqueue()

    scene.queue.claim_many(LONG, 1)

    assert scene.row(job_id) == {"state": "active", "attempts": "1", "payload": "w"}


def test_a_short_batch_is_no_error(scene: Scene) -> None:
    for _ in range(3):
        scene.enqueue()

    assert len(scene.queue.claim_many(LONG, 7)) == 3
    assert scene.queue.claim_many(LONG, 7) == []


@pytest.mark.parametrize("size", [1, 2, 10])
def test_ghosts_are_dropped_and_the_jobs_behind_them_served(scene: Scene, size: int) -> None:
    ghosts(scene, 7)
    jobs = [scene.enqueue() for _ in range(2)]

    held = scene.queue.claim_many(LONG, size)

    assert [one.job_id for one in held] == jobs[:size]
    assert scene.members("pending") == jobs[size:]


def test_64_rounds_of_ghosts_are_enough_for_one_call_and_the_wake_stays(scene: Scene) -> None:
    ghosts(scene, 70)
    job_id = scene.enqueue()

    first, second = scene.queue.claim_many(LONG, 1), scene.queue.claim_many(LONG, 1)

    assert first == []
    assert [one.job_id for one in second] == [job_id]


def test_a_call_that_gave_up_on_ghosts_leaves_the_wake_token_to_others(scene: Scene) -> None:
    ghosts(scene, 70)
    scene.enqueue()

    scene.queue.claim_many(LONG, 1)

    assert scene.wakes() == 1


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_row_at_the_head_goes_to_dead_and_stops_nothing(scene: Scene, kind: str) -> None:
    fields, reason = BROKEN[kind]
    bad = new_id()
    scene.client.hset(scene.keys.row(bad), mapping=fields)
    scene.client.zadd(scene.keys.pending, {bad: 0})
    good = scene.enqueue()

    held = scene.queue.claim_many(LONG, 2)

    assert [one.job_id for one in held] == [good]
    assert scene.places(bad) == ["dead"]
    assert scene.fields(bad, "state") == ["dead"]
    assert reason in str(scene.row(bad)["last_error"])


def test_a_member_that_is_no_job_id_goes_to_dead_for_no_worker_could_settle_it(
    scene: Scene,
) -> None:
    scene.client.zadd(scene.keys.pending, {"JOB-no-id": 0})
    scene.client.hset(f"{scene.keys.base}job:JOB-no-id", mapping={"attempts": "0", "payload": "w"})
    good = scene.enqueue()

    claimed = scene.run(calls.claim_many(scene.keys, 60_000, 5, "w1"))

    assert [job.job_id for job in claimed] == [good]
    assert scene.members("dead") == ["JOB-no-id"]
    assert scene.client.hget(f"{scene.keys.base}job:JOB-no-id", "last_error") == (
        b"this member is no job id: no worker could settle it"
    )


def test_a_row_that_is_no_hash_goes_to_dead_as_it_is(scene: Scene) -> None:
    bad = new_id()
    scene.client.set(scene.keys.row(bad), "x")
    scene.client.zadd(scene.keys.pending, {bad: 0})
    good = scene.enqueue()

    held = scene.queue.claim_many(LONG, 1)

    assert [one.job_id for one in held] == [good]
    assert scene.members("dead") == [bad]
    assert scene.client.get(scene.keys.row(bad)) == b"x"


def test_good_jobs_before_a_broken_row_are_served_and_it_is_set_aside_next_time(
    scene: Scene,
) -> None:
    ghosts(scene, 1)
    first, bad, last = scene.enqueue(), new_id(), new_id()
    scene.client.hset(scene.keys.row(bad), "state", "pending")
    scene.client.zadd(scene.keys.pending, {bad: 0})
    scene.enqueue(job_id=last)

    held = scene.queue.claim_many(LONG, 2) + scene.queue.claim_many(LONG, 2)

    assert [one.job_id for one in held] == [first, last]
    assert scene.members("dead") == [bad]


@pytest.mark.parametrize("flag", ["1", "0", ""])
def test_any_value_of_the_flag_pauses_and_nothing_is_touched(scene: Scene, flag: str) -> None:
    scene.enqueue()
    scene.client.hset(scene.keys.meta, "paused", flag)
    before = scene.snapshot()

    assert scene.queue.claim_many(LONG, 5) == []

    assert scene.snapshot() == before


def test_a_meta_that_cannot_be_read_pauses(scene: Scene) -> None:
    scene.enqueue()
    scene.client.set(scene.keys.meta, "x")
    before = scene.snapshot()

    assert scene.queue.claim_many(LONG, 5) == []

    assert scene.snapshot() == before


def test_a_wrong_typed_active_set_loses_no_id(scene: Scene) -> None:
    scene.enqueue()
    scene.client.set(scene.keys.active, "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        scene.queue.claim_many(LONG, 5)

    assert scene.snapshot() == before


def test_the_last_job_takes_the_wake_tokens_along(scene: Scene) -> None:
    scene.enqueue()
    scene.enqueue()

    scene.queue.claim_many(LONG, 1)
    assert scene.wakes() == 2

    scene.queue.claim_many(LONG, 2)
    assert scene.wakes() == 0


def test_wake_tokens_stay_while_a_lane_is_in_the_ring(scene: Scene) -> None:
    lane_enqueue(scene.client, scene.name, GROUP, new_id(), "w")
    scene.enqueue()

    scene.queue.claim_many(LONG, 5)

    assert scene.wakes() == 2


def test_a_claim_says_how_many_claims_did_not_count_and_how_many_lapsed(scene: Scene) -> None:
    scene.queue.release(scene.held())
    scene.reaped(scene.claim())

    held = scene.claim()

    assert (held.token, held.excused, held.lapses, held.attempt) == (3, 1, 1, 2)


@pytest.mark.parametrize("size", [0, -1, 1001, True, "1"])
def test_a_wrong_size_is_refused_before_any_wire(scene: Scene, size: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        scene.queue.claim_many(LONG, size)

    assert str(refused.value) == f"a batch size is a whole number from 1 to 1000; got {size!r}"


def test_a_lease_of_no_time_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidLease):
        scene.queue.claim_many(timedelta(), 1)
    with pytest.raises(InvalidLease):
        calls.claim_many(scene.keys, 0, 1)
