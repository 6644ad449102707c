"""Cases of what is done to a whole queue, to payloads, to deduplication keys and under a ceiling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from tests.foreign.flows import flow_add
from tests.protocol.cases import case
from tests.protocol.cases_admission import held_in_lane, laned, receipted
from tests.protocol.scene import LONG, Scene, new_id


def everywhere(scene: Scene) -> None:
    """A job in each place, a flow, a receipt, a deduplication key, a schedule of each sort."""
    held_in_lane(scene)
    laned(scene)
    receipted(scene)
    flow_add(scene.client, scene.name, (new_id(), "p"), {new_id(): "c"})
    scene.queue.schedule_in(new_id(), b"w", LONG)
    scene.queue.dedup("once", scene.dead(), LONG)
    scene.queue.dedup("orphan", new_id(), LONG)


@case("drain", "n")
def jobs_that_wait_everywhere(scene: Scene) -> Call[Any]:
    everywhere(scene)
    return calls.drain(scene.keys, 100, scheduled=True, label="op", receipt_ms=60_000)


@case("drain", "n")
def nothing_that_waits(scene: Scene) -> Call[Any]:
    scene.held()
    return calls.drain(scene.keys, 100)


@case("drain", "ERR")
def a_page_of_none(scene: Scene) -> Call[Any]:
    scene.enqueue()
    return replace(calls.drain(scene.keys, 1), args=("0",))


@case("obliterate", "0")
def a_paused_queue_with_everything(scene: Scene) -> Call[Any]:
    everywhere(scene)
    scene.queue.pause()
    return calls.obliterate(scene.keys, force=True)


@case("obliterate", "0")
def a_queue_that_never_was(scene: Scene) -> Call[Any]:
    return calls.obliterate(scene.keys)


@case("obliterate", "1")
def more_than_one_step(scene: Scene) -> Call[Any]:
    for _ in range(3):
        scene.enqueue()
    scene.queue.pause()
    return calls.obliterate(scene.keys, budget=2)


@case("obliterate", "EMQSTATE")
def a_queue_that_is_not_paused(scene: Scene) -> Call[Any]:
    scene.enqueue()
    return calls.obliterate(scene.keys, force=True)


@case("obliterate", "EMQSTATE")
def a_paused_queue_whose_jobs_run(scene: Scene) -> Call[Any]:
    scene.held()
    scene.queue.pause()
    return calls.obliterate(scene.keys)


@case("obliterate", "ERR")
def a_budget_that_no_script_may_spend(scene: Scene) -> Call[Any]:
    return replace(calls.obliterate(scene.keys), args=("", "5001"))


@case("update_data", "1")
def a_payload_of_a_waiting_job(scene: Scene) -> Call[Any]:
    return calls.update_data(scene.keys, scene.enqueue(), b"new")


@case("update_data", "-1")
def a_payload_of_nothing(scene: Scene) -> Call[Any]:
    return calls.update_data(scene.keys, new_id(), b"new")


@case("update_data", "EMQLOCK")
def a_payload_of_a_job_that_runs(scene: Scene) -> Call[Any]:
    return calls.update_data(scene.keys, scene.held().job_id, b"new")


@case("dedup", "[id]")
def a_new_key(scene: Scene) -> Call[Any]:
    scene.run(calls.dedup(scene.keys, "expired", new_id(), 60_000))
    scene.client.delete(scene.key("de:expired"))
    return calls.dedup(scene.keys, "once", new_id(), 60_000)


@case("dedup", "[id]")
def a_key_that_another_job_has(scene: Scene) -> Call[Any]:
    scene.run(calls.dedup(scene.keys, "once", new_id(), 60_000))
    return calls.dedup(scene.keys, "once", new_id(), 60_000)


@case("dedup", "ERR")
def a_key_for_no_time(scene: Scene) -> Call[Any]:
    call = calls.dedup(scene.keys, "once", new_id(), 1)
    return replace(call, args=(*call.args[:2], "0"))


@case("rate", "0")
def below_the_ceiling(scene: Scene) -> Call[Any]:
    scene.held()
    scene.queue.set_rate(2)
    return calls.rate(scene.keys)


@case("rate", "EMQRATE")
def at_the_ceiling(scene: Scene) -> Call[Any]:
    scene.held()
    scene.queue.set_rate(1)
    return calls.rate(scene.keys)


@case("rate_consult", "[[id, payload, token, excused, lapses]]")
def room_for_one_more(scene: Scene) -> Call[Any]:
    scene.held()
    scene.queue.set_rate(2)
    for _ in range(3):
        scene.enqueue()
    return calls.rate_consult(scene.keys, 60_000, 3, "w1")


@case("rate_consult", "EMQRATE")
def no_room(scene: Scene) -> Call[Any]:
    scene.held()
    scene.queue.set_rate(1)
    scene.enqueue()
    return calls.rate_consult(scene.keys, 60_000, 1, "w1")


@case("rate_consult", "ERR")
def a_batch_of_none_under_a_ceiling(scene: Scene) -> Call[Any]:
    return replace(calls.rate_consult(scene.keys, 60_000, 1), args=("60000", "0"))
