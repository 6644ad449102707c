"""Cases of what fills, serves and steers lanes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from tests.foreign.flows import flow_add
from tests.protocol.cases import case
from tests.protocol.cases_admission import GROUP, ORDER, broken, held_in_lane, laned, receipted
from tests.protocol.scene import Scene, new_id

OTHER = "PRT0JZGkPbYKCe"


def spoilt_lane(scene: Scene) -> None:
    """A ghost, a broken row, a job of another lane and a good one, in a lane with room for one more."""
    held_in_lane(scene)
    stray = laned(scene)
    scene.client.hset(scene.keys.row(stray), "group", OTHER)
    scene.client.zadd(scene.keys.lane(GROUP), {new_id(): 0, broken(scene): 0})
    laned(scene)
    laned(scene)
    scene.run(calls.lane_limit(scene.keys, GROUP, 2))
    scene.run(calls.lane_weight(scene.keys, GROUP, 5))


def unservable_lanes(scene: Scene) -> None:
    """Lanes in the ring that cannot be served: an empty one, a parked one, one without a ceiling's room."""
    held_in_lane(scene)
    parked, full = "PRT00000000001", "PRT00000000002"
    for lane in (parked, full):
        scene.run(calls.lane_enqueue(scene.keys, lane, new_id(), b"w"))
    scene.client.sadd(scene.keys.paused, parked)
    scene.client.hset(scene.keys.glimit, full, 0)
    scene.client.lpush(scene.keys.ring, GROUP)


@case("lane_enqueue", "1")
def the_first_job_of_a_lane(scene: Scene) -> Call[Any]:
    return calls.lane_enqueue(scene.keys, GROUP, new_id(), b"w")


@case("lane_enqueue", "1")
def a_job_of_a_full_lane(scene: Scene) -> Call[Any]:
    held_in_lane(scene)
    scene.run(calls.lane_limit(scene.keys, GROUP, 1))
    return calls.lane_enqueue(scene.keys, GROUP, new_id(), b"w")


@case("lane_enqueue", "0")
def a_job_that_waits_in_a_lane(scene: Scene) -> Call[Any]:
    return calls.lane_enqueue(scene.keys, OTHER, laned(scene), b"w")


@case("lane_enqueue", "0")
def a_job_of_a_lane_that_left_a_receipt(scene: Scene) -> Call[Any]:
    return calls.lane_enqueue(scene.keys, GROUP, receipted(scene), b"w")


@case("lane_enqueue", "EMQKIND")
def another_kind_for_a_lane(scene: Scene) -> Call[Any]:
    return calls.lane_enqueue(scene.keys, GROUP, ORDER, b"w")


@case("schedule", "1")
def in_a_while_for_a_lane(scene: Scene) -> Call[Any]:
    return calls.schedule_in(scene.keys, new_id(), b"w", 1000, GROUP)


@case("lane_claim", "[[id, payload, token, excused, lapses, group]]")
def a_turn_of_a_spoilt_lane(scene: Scene) -> Call[Any]:
    spoilt_lane(scene)
    return calls.lane_claim(scene.keys, 1000, 10, "w1")


@case("lane_claim", "[[id, payload, token, excused, lapses, group]]")
def no_lane_that_can_be_served(scene: Scene) -> Call[Any]:
    unservable_lanes(scene)
    return calls.lane_claim(scene.keys, 1000, 10)


@case("lane_claim", "[[id, payload, token, excused, lapses, group]]")
def lanes_of_a_paused_queue(scene: Scene) -> Call[Any]:
    laned(scene)
    scene.queue.pause()
    return calls.lane_claim(scene.keys, 1000, 10)


@case("lane_claim", "ERR")
def a_turn_of_none(scene: Scene) -> Call[Any]:
    return replace(calls.lane_claim(scene.keys, 1000, 1), args=(1000, 0, ""))


@case("lane_claim_weighted", "[[id, payload, token, excused, lapses, group]]")
def a_weighted_turn_of_a_spoilt_lane(scene: Scene) -> Call[Any]:
    spoilt_lane(scene)
    return calls.lane_claim_weighted(scene.keys, 1000, 10, "w1")


@case("lane_claim_weighted", "[[id, payload, token, excused, lapses, group]]")
def no_weighted_lane_that_can_be_served(scene: Scene) -> Call[Any]:
    unservable_lanes(scene)
    return calls.lane_claim_weighted(scene.keys, 1000, 10)


@case("lane_claim_weighted", "ERR")
def a_weighted_turn_of_too_many(scene: Scene) -> Call[Any]:
    return replace(calls.lane_claim_weighted(scene.keys, 1000, 1), args=(1000, 1001, ""))


@case("lane_pause", "1")
def a_lane_in_rotation(scene: Scene) -> Call[Any]:
    laned(scene)
    return calls.lane_pause(scene.keys, GROUP)


@case("lane_pause", "0")
def a_parked_lane(scene: Scene) -> Call[Any]:
    scene.run(calls.lane_pause(scene.keys, GROUP))
    return calls.lane_pause(scene.keys, GROUP)


@case("lane_resume", "1")
def a_parked_lane_goes_on(scene: Scene) -> Call[Any]:
    laned(scene)
    scene.run(calls.lane_pause(scene.keys, GROUP))
    return calls.lane_resume(scene.keys, GROUP)


@case("lane_resume", "0")
def a_lane_that_runs(scene: Scene) -> Call[Any]:
    laned(scene)
    return calls.lane_resume(scene.keys, GROUP)


@case("lane_limit", "1")
def a_ceiling_that_is_reached(scene: Scene) -> Call[Any]:
    held_in_lane(scene)
    laned(scene)
    return calls.lane_limit(scene.keys, GROUP, 1)


@case("lane_limit", "1")
def a_ceiling_that_is_lifted(scene: Scene) -> Call[Any]:
    held_in_lane(scene)
    laned(scene)
    scene.run(calls.lane_limit(scene.keys, GROUP, 1))
    return calls.lane_limit(scene.keys, GROUP, None)


@case("lane_limit", "ERR")
def a_ceiling_of_a_word(scene: Scene) -> Call[Any]:
    return replace(calls.lane_limit(scene.keys, GROUP, 1), args=(GROUP, "few"))


@case("lane_weight", "1")
def a_weight(scene: Scene) -> Call[Any]:
    return calls.lane_weight(scene.keys, GROUP, 3)


@case("lane_weight", "1")
def no_weight_any_more(scene: Scene) -> Call[Any]:
    scene.run(calls.lane_weight(scene.keys, GROUP, 3))
    return calls.lane_weight(scene.keys, GROUP, None)


@case("lane_weight", "ERR")
def a_weight_of_a_word(scene: Scene) -> Call[Any]:
    return replace(calls.lane_weight(scene.keys, GROUP, 1), args=(GROUP, "heavy"))


@case("lane_reassign", "1")
def the_last_job_of_a_lane_to_another(scene: Scene) -> Call[Any]:
    return calls.lane_reassign(scene.keys, laned(scene), OTHER)


@case("lane_reassign", "0")
def to_the_lane_where_it_waits(scene: Scene) -> Call[Any]:
    return calls.lane_reassign(scene.keys, laned(scene), GROUP)


@case("lane_reassign", "-1")
def a_job_without_a_lane(scene: Scene) -> Call[Any]:
    return calls.lane_reassign(scene.keys, scene.enqueue(), OTHER)


@case("lane_reassign", "-2")
def a_job_of_a_lane_that_runs(scene: Scene) -> Call[Any]:
    job_id, _ = held_in_lane(scene)
    return calls.lane_reassign(scene.keys, job_id, OTHER)


@case("lane_drain", "n")
def a_lane_of_jobs_a_ghost_and_a_broken_row(scene: Scene) -> Call[Any]:
    spoilt_lane(scene)
    return calls.lane_drain(scene.keys, GROUP, 100, label="op", receipt_ms=60_000)


@case("lane_drain", "n")
def a_lane_with_the_child_of_a_flow(scene: Scene) -> Call[Any]:
    parent, child = new_id(), laned(scene)
    flow_add(scene.client, scene.name, (parent, "p"), {new_id(): "c"})
    scene.client.hset(scene.keys.row(child), "parent", parent)
    scene.run(calls.dedup(scene.keys, "once", child, 60_000))
    return calls.lane_drain(scene.keys, GROUP, 100)


@case("lane_drain", "ERR")
def a_drain_of_none(scene: Scene) -> Call[Any]:
    return replace(calls.lane_drain(scene.keys, GROUP, 1), args=(GROUP, 0, "", 0))


@case("lane_reap", "[moved, seen]")
def lapsed_jobs_of_this_lane_and_of_none(scene: Scene) -> Call[Any]:
    job_id, _ = held_in_lane(scene)
    scene.lapse(scene.held().job_id, job_id)
    unreadable = new_id()
    scene.client.hset(scene.keys.row(unreadable), "group", GROUP)
    scene.client.zadd(scene.keys.active, {new_id(): 1, unreadable: 1})
    return calls.lane_reap(scene.keys, GROUP, 100)


@case("lane_reap", "ERR")
def an_offset_below_zero(scene: Scene) -> Call[Any]:
    return replace(calls.lane_reap(scene.keys, GROUP, 1), args=(GROUP, 1, -1))
