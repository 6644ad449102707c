"""Cases of what admits and claims."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from tests.foreign.lanes import lane_claim, lane_enqueue
from tests.protocol.cases import case
from tests.protocol.scene import Scene, new_id

GROUP = "PRT0JZGkPbGj4a"
ORDER = "ORD0KHTOWnGLuC"


def receipted(scene: Scene) -> str:
    """A job that ended and left a receipt."""
    held = scene.held()
    scene.queue.complete(held, calls.Retention(mark="m", receipt_ms=60_000))
    return held.job_id


def broken(scene: Scene) -> str:
    """An id whose row has no payload."""
    job_id = new_id()
    scene.client.hset(scene.keys.row(job_id), "state", "pending")
    return job_id


def laned(scene: Scene, payload: str = "w") -> str:
    """A job that waits in a lane."""
    job_id = new_id()
    lane_enqueue(scene.client, scene.name, GROUP, job_id, payload)
    return job_id


def held_in_lane(scene: Scene) -> tuple[str, int]:
    """A job of a lane, held by a claimer of lanes."""
    laned(scene)
    held = lane_claim(scene.client, scene.name)
    assert held is not None
    return held.job_id, held.token


@case("enqueue", "1")
def a_new_job(scene: Scene) -> Call[Any]:
    return calls.enqueue(scene.keys, new_id(), b"w")


@case("enqueue", "0")
def a_job_that_waits(scene: Scene) -> Call[Any]:
    return calls.enqueue(scene.keys, scene.enqueue(), b"w")


@case("enqueue", "0")
def a_job_that_left_a_receipt(scene: Scene) -> Call[Any]:
    return calls.enqueue(scene.keys, receipted(scene), b"w")


@case("enqueue", "EMQKIND")
def another_kind(scene: Scene) -> Call[Any]:
    return calls.enqueue(scene.keys, ORDER, b"w")


@case("enqueue_many", "[1, 0, -1]")
def each_verdict(scene: Scene) -> Call[Any]:
    jobs = [new_id(), scene.enqueue(), receipted(scene), ORDER]
    return calls.enqueue_many(scene.keys, [(job_id, b"w") for job_id in jobs])


@case("schedule", "1")
def in_a_while(scene: Scene) -> Call[Any]:
    return calls.schedule_in(scene.keys, new_id(), b"w", 1000)


@case("schedule", "1")
def at_an_instant(scene: Scene) -> Call[Any]:
    return calls.schedule_at(scene.keys, new_id(), b"w", 1000)


@case("schedule", "0")
def scheduled_already(scene: Scene) -> Call[Any]:
    call = calls.schedule_in(scene.keys, new_id(), b"w", 1000)
    scene.run(call)
    return call


@case("schedule", "0")
def ended_already(scene: Scene) -> Call[Any]:
    return calls.schedule_in(scene.keys, receipted(scene), b"w", 1000)


@case("schedule", "EMQKIND")
def scheduled_of_another_kind(scene: Scene) -> Call[Any]:
    return calls.schedule_in(scene.keys, ORDER, b"w", 1000)


@case("schedule", "ERR")
def neither_at_nor_in(scene: Scene) -> Call[Any]:
    call = calls.schedule_in(scene.keys, new_id(), b"w", 1000)
    return replace(call, args=(*call.args[:2], "on", 1000))


@case("claim", "[]")
def nothing_waits(scene: Scene) -> Call[Any]:
    return calls.claim(scene.keys, 1000)


@case("claim", "[]")
def a_ghost_at_the_head(scene: Scene) -> Call[Any]:
    scene.client.zadd(scene.keys.pending, {new_id(): 0})
    return calls.claim(scene.keys, 1000)


@case("claim", "[id, payload, token]")
def the_oldest_job(scene: Scene) -> Call[Any]:
    scene.enqueue()
    return calls.claim(scene.keys, 1000)


@case("claim", "[id, payload, token]")
def the_oldest_job_with_a_label(scene: Scene) -> Call[Any]:
    scene.enqueue()
    return calls.claim(scene.keys, 1000, "w1")


@case("claim_many", "[[id, payload, token, excused, lapses]]")
def jobs_between_a_ghost_and_a_broken_row(scene: Scene) -> Call[Any]:
    scene.client.zadd(scene.keys.pending, {new_id(): 0, broken(scene): 0})
    scene.enqueue()
    scene.enqueue()
    return calls.claim_many(scene.keys, 1000, 10, "w1")


@case("claim_many", "[[id, payload, token, excused, lapses]]")
def from_a_paused_queue(scene: Scene) -> Call[Any]:
    scene.enqueue()
    scene.queue.pause()
    return calls.claim_many(scene.keys, 1000, 10)


@case("claim_many", "ERR")
def a_size_of_zero(scene: Scene) -> Call[Any]:
    call = calls.claim_many(scene.keys, 1000, 1)
    return replace(call, args=(1000, 0, ""))


@case("beat", "[reaped, promoted, trimmed, next_ms, jobs, outbox]")
def everything_falls_due(scene: Scene) -> Call[Any]:
    lapsed, expired = scene.held(), receipted(scene)
    in_lane, _ = held_in_lane(scene)
    due, ghost = new_id(), new_id()
    scene.run(calls.schedule_at(scene.keys, due, b"w", 1))
    scene.client.zadd(scene.keys.schedule, {ghost: 1, broken(scene): 1})
    scene.client.zadd(scene.keys.active, {new_id(): 1, broken(scene): 1})
    scene.lapse(lapsed.job_id, in_lane)
    scene.client.zadd(scene.keys.expire, {expired: 1})
    scene.enqueue()
    return calls.beat(scene.keys, batch=100, lease=1000, size=1, label="w1")


@case("beat", "[reaped, promoted, trimmed, next_ms, jobs, outbox]")
def nothing_is_claimed(scene: Scene) -> Call[Any]:
    scene.held()
    return calls.beat(scene.keys, batch=100, lease=1000, size=0, label="w1")


@case("beat", "ERR")
def a_lease_that_is_no_number(scene: Scene) -> Call[Any]:
    call = calls.beat(scene.keys, batch=1, lease=1000, size=0, label="")
    return replace(call, args=(1, "soon", 0, ""))


@case("promote", "n")
def due_jobs_of_every_sort(scene: Scene) -> Call[Any]:
    scene.run(calls.schedule_at(scene.keys, new_id(), b"w", 1))
    job_id, token = held_in_lane(scene)
    scene.run(calls.delay_at(scene.keys, job_id, token, 1))
    scene.client.zadd(scene.keys.schedule, {new_id(): 1, broken(scene): 1})
    return calls.promote(scene.keys, 100)


@case("promote", "ERR")
def a_batch_of_zero(scene: Scene) -> Call[Any]:
    return replace(calls.promote(scene.keys, 1), args=(0,))


@case("reap", "n")
def lapsed_jobs_of_every_sort(scene: Scene) -> Call[Any]:
    job_id, _ = held_in_lane(scene)
    scene.lapse(scene.held().job_id, job_id)
    scene.client.zadd(scene.keys.active, {new_id(): 1, broken(scene): 1})
    return calls.reap(scene.keys)


@case("reap", "ERR")
def a_limit_of_zero(scene: Scene) -> Call[Any]:
    return replace(calls.reap(scene.keys), args=(0,))


@case("trim", "n")
def a_receipt_whose_time_is_over(scene: Scene) -> Call[Any]:
    scene.client.zadd(scene.keys.expire, {receipted(scene): 1})
    return calls.trim(scene.keys)


@case("trim", "ERR")
def trimmed_by_a_word(scene: Scene) -> Call[Any]:
    return replace(calls.trim(scene.keys), args=("all",))
