from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, InvalidLease, Stale, WrongType
from tests.foreign.lanes import lane_enqueue, lane_limit
from tests.protocol.lanes import GROUP, OTHER, Books, books, known, laned, turn, waits
from tests.protocol.scene import LONG, Scene, new_id

THIRD = "PRT0JZGkPbYKCf"
BROKEN = {
    "no payload": {"attempts": "0", "group": GROUP},
    "no attempts": {"payload": "w", "group": GROUP},
    "attempts that are no number": {"attempts": "x", "payload": "w", "group": GROUP},
    "another lane": {"attempts": "0", "payload": "w", "group": OTHER},
    "no lane": {"attempts": "0", "payload": "w"},
}


def test_lanes_take_turns_and_each_serves_its_oldest_job(scene: Scene) -> None:
    mine, other = waits(scene, count=3), waits(scene, OTHER, count=2)

    served = [held.job_id for _ in range(5) for held in turn(scene)]

    assert served == [mine[0], other[0], mine[1], other[1], mine[2]]
    assert books(scene) == Books((), 3, False)
    assert turn(scene) == []


def test_a_claim_writes_what_a_flat_claim_writes_and_tells_the_lane(scene: Scene) -> None:
    (job_id,) = waits(scene)
    flat = scene.held(label="w1")

    (held,) = turn(scene, label="w2")

    assert (held.lane, held.token, held.payload, held.attempt) == (GROUP, 1, b"w", 1)
    assert scene.fields(job_id, "state", "attempts", "worker") == ["active", "1", "1 w2"]
    assert set(scene.row(job_id)) == {*scene.row(flat.job_id), "group"}
    assert flat.lane == ""


def test_a_batch_is_of_one_lane_under_one_deadline_and_the_next_is_of_another(scene: Scene) -> None:
    mine, other = waits(scene, count=4), waits(scene, OTHER, count=2)

    first, second = turn(scene, 3), turn(scene, 3)

    assert [held.job_id for held in first] == mine[:3]
    assert [held.job_id for held in second] == other
    assert len({scene.score("active", job_id) for job_id in mine[:3]}) == 1
    assert books(scene) == Books((mine[3],), 3, True)
    assert books(scene, OTHER) == Books((), 2, False)


def test_a_batch_never_goes_over_the_ceiling_of_its_lane(scene: Scene) -> None:
    jobs = waits(scene, count=8)
    scene.lanes.limit(GROUP, 3)

    held = turn(scene, 100)

    assert [one.job_id for one in held] == jobs[:3]
    assert books(scene) == Books(tuple(jobs[3:]), 3, False)
    assert turn(scene, 100) == []

    scene.queue.complete(held[0])
    assert [one.job_id for one in turn(scene, 100)] == jobs[3:4]


def test_a_ceiling_that_another_program_lowered_is_kept(scene: Scene) -> None:
    waits(scene, count=3)
    turn(scene, 2)
    lane_limit(scene.client, scene.name, GROUP, 1)
    scene.client.rpush(scene.keys.ring, GROUP)

    assert turn(scene) == []
    assert not books(scene).ringed


@pytest.mark.parametrize("limit", ["0", "-1", "0.5"])
def test_a_ceiling_of_less_than_one_job_serves_none(scene: Scene, limit: str) -> None:
    jobs = waits(scene, count=2)
    scene.client.hset(scene.keys.glimit, GROUP, limit)

    assert turn(scene, 10) == []
    assert books(scene) == Books(tuple(jobs), 0, False)


def test_an_empty_lane_at_the_head_does_not_hide_the_work_of_another(scene: Scene) -> None:
    (job_id,) = waits(scene)
    scene.client.lpush(scene.keys.ring, THIRD, OTHER)
    scene.client.sadd(scene.keys.groups, THIRD, OTHER)

    assert [held.job_id for held in turn(scene)] == [job_id]
    assert scene.client.exists(scene.keys.ring) == 0
    assert known(scene) == {GROUP}


def test_a_parked_lane_at_the_head_does_not_hide_the_work_of_another(scene: Scene) -> None:
    parked, served = waits(scene, OTHER), waits(scene)
    scene.client.sadd(scene.keys.paused, OTHER)

    assert [held.job_id for held in turn(scene)] == served
    assert books(scene, OTHER) == Books(tuple(parked), 0, False)


def test_a_thousand_empty_lanes_cost_one_call_and_no_more(scene: Scene) -> None:
    (job_id,) = waits(scene)
    scene.client.lpush(scene.keys.ring, *(f"PRT{number:011}" for number in range(1000)))

    first, second = turn(scene), turn(scene)

    assert first == []
    assert [held.job_id for held in second] == [job_id]


@pytest.mark.parametrize("size", [1, 2, 10])
def test_ghosts_are_dropped_and_the_jobs_behind_them_served(scene: Scene, size: int) -> None:
    scene.client.zadd(scene.keys.lane(GROUP), {new_id(): 0 for _ in range(7)})
    jobs = waits(scene, count=2)

    assert [held.job_id for held in turn(scene, size)] == jobs[:size]

    assert books(scene) == Books(tuple(jobs[size:]), min(size, 2), size == 1)


def test_a_lane_of_ghosts_is_emptied_forgotten_and_the_next_one_served(scene: Scene) -> None:
    waits(scene, OTHER)
    scene.client.delete(scene.keys.row(scene.members(f"g:{OTHER}:pending")[0]))
    (job_id,) = waits(scene)

    assert [held.job_id for held in turn(scene)] == [job_id]

    assert books(scene, OTHER) == Books((), 0, False)
    assert known(scene) == {GROUP}


def test_a_flood_of_ghosts_is_worn_down_while_other_lanes_are_served(scene: Scene) -> None:
    scene.client.zadd(scene.keys.lane(OTHER), {new_id(): 0 for _ in range(70)})
    behind, served = waits(scene, OTHER), waits(scene)

    assert [held.job_id for held in turn(scene)] == served
    assert [held.job_id for held in turn(scene)] == behind


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_row_goes_to_dead_and_stops_nothing(scene: Scene, kind: str) -> None:
    bad = new_id()
    scene.client.hset(scene.keys.row(bad), mapping=BROKEN[kind])
    scene.client.zadd(scene.keys.lane(GROUP), {bad: 0})
    (good,) = waits(scene)

    held = turn(scene, 2)

    assert [one.job_id for one in held] == [good]
    assert scene.members("dead") == [bad]
    assert scene.fields(bad, "state") == ["dead"]
    assert "row" in str(scene.row(bad)["last_error"])
    assert books(scene) == Books((), 1, False)


def test_a_lane_whose_set_is_of_another_type_is_passed_over_and_comes_back_when_it_is_whole(
    scene: Scene,
) -> None:
    scene.client.rpush(scene.keys.ring, OTHER)
    scene.client.set(scene.keys.lane(OTHER), "x")
    mine = waits(scene, count=2)

    assert [held.job_id for _ in range(2) for held in turn(scene)] == mine
    assert turn(scene) == []

    scene.client.delete(scene.keys.lane(OTHER))
    (job_id,) = waits(scene, OTHER)
    assert [held.job_id for held in turn(scene)] == [job_id]


@pytest.mark.parametrize("kind", ["ring", "gactive", "glimit", "paused", "active", "dead"])
def test_shared_books_of_another_type_refuse_with_nothing_written(scene: Scene, kind: str) -> None:
    waits(scene)
    scene.client.delete(scene.key(kind))
    scene.client.set(scene.key(kind), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        turn(scene)

    assert scene.snapshot() == before


@pytest.mark.parametrize("flag", ["1", "0", ""])
def test_any_value_of_the_queue_s_flag_pauses_its_lanes(scene: Scene, flag: str) -> None:
    waits(scene)
    scene.client.hset(scene.keys.meta, "paused", flag)
    before = scene.snapshot()

    assert turn(scene, 5) == []

    assert scene.snapshot() == before


def test_a_count_that_is_no_number_is_counted_anew(scene: Scene) -> None:
    waits(scene)
    scene.client.hset(scene.key("gactive"), GROUP, "x")

    turn(scene)

    assert books(scene).running == 1


def test_a_claim_makes_a_lane_known_that_another_program_filled(scene: Scene) -> None:
    laned(scene)
    assert known(scene) == set()

    turn(scene)

    assert known(scene) == {GROUP}


def test_a_claim_says_how_many_claims_did_not_count_and_how_many_lapsed(scene: Scene) -> None:
    waits(scene)
    scene.queue.release(turn(scene)[0])
    scene.lapse(turn(scene)[0].job_id)
    scene.queue.reap()

    (held,) = turn(scene)

    assert (held.token, held.excused, held.lapses, held.attempt) == (3, 1, 1, 2)


def test_the_token_of_an_earlier_claim_is_refused(scene: Scene) -> None:
    waits(scene)
    (first,) = turn(scene, label="w1")
    scene.lapse(first.job_id)
    scene.queue.reap()
    turn(scene, label="w2")

    with pytest.raises(Stale):
        scene.queue.complete(first)

    assert books(scene) == Books((), 1, False)


def test_two_programs_share_the_ring(scene: Scene) -> None:
    lane_enqueue(scene.client, scene.name, OTHER, new_id(), "w")
    waits(scene)

    assert [held.lane for _ in range(2) for held in turn(scene)] == [OTHER, GROUP]


@pytest.mark.parametrize("size", [0, -1, 1001, True, "1"])
def test_a_wrong_size_is_refused_before_any_wire(scene: Scene, size: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        scene.lanes.claim(LONG, size)

    assert str(refused.value) == f"a batch size is a whole number from 1 to 1000; got {size!r}"


def test_a_lease_of_no_time_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidLease):
        scene.lanes.claim(timedelta())
    with pytest.raises(InvalidLease):
        calls.lane_claim(scene.keys, 0, 1)
