"""Cases of what an operator does, and of reading."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from tests.foreign.flows import flow_add
from tests.protocol.cases import case
from tests.protocol.cases_admission import broken, held_in_lane, laned, receipted
from tests.protocol.cases_settling import failed
from tests.protocol.scene import Scene, new_id


def dead_in_lane(scene: Scene) -> str:
    """A job of a lane that had its only attempt."""
    job_id, token = held_in_lane(scene)
    scene.run(failed(scene, job_id, token, 1))
    return job_id


@case("requeue", "1")
def a_dead_job(scene: Scene) -> Call[Any]:
    return calls.requeue(scene.keys, scene.dead(), "op")


@case("requeue", "1")
def a_dead_job_of_a_lane(scene: Scene) -> Call[Any]:
    return calls.requeue(scene.keys, dead_in_lane(scene))


@case("requeue", "-1")
def a_job_that_is_gone(scene: Scene) -> Call[Any]:
    return calls.requeue(scene.keys, new_id())


@case("requeue", "EMQSTATE")
def a_job_that_lives(scene: Scene) -> Call[Any]:
    return calls.requeue(scene.keys, scene.enqueue())


@case("requeue", "EMQSTALE")
def the_same_call_again(scene: Scene) -> Call[Any]:
    call = calls.requeue(scene.keys, scene.dead(), "op")
    scene.run(call)
    return call


@case("requeue_many", "[1, 0, -1]")
def dead_living_and_gone(scene: Scene) -> Call[Any]:
    jobs = [scene.dead(), scene.enqueue(), new_id(), dead_in_lane(scene)]
    return calls.requeue_many(scene.keys, jobs, "op")


@case("remove", "1")
def a_waiting_job_and_its_deduplication(scene: Scene) -> Call[Any]:
    job_id = scene.enqueue()
    scene.client.set(scene.key("de:once"), job_id)
    return calls.remove(scene.keys, job_id, label="op", receipt_ms=60_000, did="once")


@case("remove", "1")
def a_waiting_job_of_a_lane(scene: Scene) -> Call[Any]:
    return calls.remove(scene.keys, laned(scene))


@case("remove", "1")
def a_held_job_by_force(scene: Scene) -> Call[Any]:
    job_id, _ = held_in_lane(scene)
    laned(scene)
    return calls.remove(scene.keys, job_id, force=True)


@case("remove", "-1")
def nothing_to_remove(scene: Scene) -> Call[Any]:
    return calls.remove(scene.keys, new_id())


@case("remove", "EMQLOCK")
def a_job_that_is_held(scene: Scene) -> Call[Any]:
    return calls.remove(scene.keys, scene.held().job_id)


@case("remove", "ERR")
def a_receipt_of_a_word(scene: Scene) -> Call[Any]:
    call = calls.remove(scene.keys, scene.enqueue())
    return replace(call, args=(*call.args[:3], "soon"))


@case("pause", "1")
def a_running_queue(scene: Scene) -> Call[Any]:
    return calls.pause(scene.keys)


@case("pause", "0")
def a_paused_queue(scene: Scene) -> Call[Any]:
    scene.queue.pause()
    return calls.pause(scene.keys)


@case("resume", "1")
def a_paused_queue_goes_on(scene: Scene) -> Call[Any]:
    scene.enqueue()
    scene.queue.pause()
    return calls.resume(scene.keys)


@case("resume", "0")
def a_queue_that_runs(scene: Scene) -> Call[Any]:
    return calls.resume(scene.keys)


@case("progress", "1")
def half_way(scene: Scene) -> Call[Any]:
    return calls.progress(scene.keys, scene.enqueue(), "50")


@case("progress", "-1")
def progress_of_nothing(scene: Scene) -> Call[Any]:
    return calls.progress(scene.keys, new_id(), "50")


@case("add_log", "n")
def a_line(scene: Scene) -> Call[Any]:
    return calls.add_log(scene.keys, scene.enqueue(), "one", keep=2)


@case("add_log", "-1")
def a_line_of_nothing(scene: Scene) -> Call[Any]:
    return calls.add_log(scene.keys, new_id(), "one")


@case("add_log", "ERR")
def no_line_to_keep(scene: Scene) -> Call[Any]:
    call = calls.add_log(scene.keys, scene.enqueue(), "one")
    return replace(call, args=("one", "0"))


def noting(scene: Scene, job_id: str) -> Call[Any]:
    return calls.note_stale(scene.keys, job_id, 1, "one", reason="token", ran_ms=500, ended_ms=0)


@case("note_stale", "[token, label, overlap_ms]")
def an_outcome_whose_job_another_holds(scene: Scene) -> Call[Any]:
    held = scene.reaped(scene.held(label="one"))
    scene.claim("two")
    return noting(scene, held.job_id)


@case("note_stale", "[token, label, overlap_ms]")
def an_outcome_of_nothing(scene: Scene) -> Call[Any]:
    return noting(scene, new_id())


@case("note_stale", "ERR")
def an_outcome_without_a_token(scene: Scene) -> Call[Any]:
    call = noting(scene, new_id())
    return replace(call, args=(call.args[0], "0", *call.args[2:]))


@case("counts", "[numbers]")
def a_queue_with_lanes(scene: Scene) -> Call[Any]:
    laned(scene)
    scene.enqueue()
    return calls.counts(scene.keys)


@case("read_rows", "[rows]")
def rows_of_every_sort(scene: Scene) -> Call[Any]:
    return calls.read_rows(scene.keys, [scene.enqueue(), broken(scene), receipted(scene)], 10)


@case("read_rows", "ERR")
def rows_cut_by_a_word(scene: Scene) -> Call[Any]:
    return replace(calls.read_rows(scene.keys, [], 10), args=("short",))


@case("state", "pending")
def waiting(scene: Scene) -> Call[Any]:
    return calls.state(scene.keys, scene.enqueue())


@case("state", "pending")
def waiting_in_a_lane(scene: Scene) -> Call[Any]:
    return calls.state(scene.keys, laned(scene))


@case("state", "active")
def leased(scene: Scene) -> Call[Any]:
    return calls.state(scene.keys, scene.held().job_id)


@case("state", "scheduled")
def parked(scene: Scene) -> Call[Any]:
    job_id = new_id()
    scene.run(calls.schedule_in(scene.keys, job_id, b"w", 1000))
    return calls.state(scene.keys, job_id)


@case("state", "dead")
def buried(scene: Scene) -> Call[Any]:
    return calls.state(scene.keys, scene.dead())


@case("state", "awaiting_children")
def a_parent(scene: Scene) -> Call[Any]:
    parent = new_id()
    flow_add(scene.client, scene.name, (parent, "p"), {new_id(): "c"})
    return calls.state(scene.keys, parent)


@case("state", "unknown")
def in_no_set(scene: Scene) -> Call[Any]:
    return calls.state(scene.keys, broken(scene))


@case("state", "done")
def ended(scene: Scene) -> Call[Any]:
    return calls.state(scene.keys, receipted(scene))


@case("state", "absent")
def never_seen(scene: Scene) -> Call[Any]:
    return calls.state(scene.keys, new_id())
