"""Cases of what a holder does with a claim."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call, Extension, Retention
from tests.foreign.flows import enqueue_child, fail_policy, flow_add, hold_parent
from tests.protocol.cases import case
from tests.protocol.cases_admission import ORDER, held_in_lane
from tests.protocol.scene import Scene, new_id

RECEIPT = Retention(mark="m", receipt_ms=60_000)
OUTCOME = Retention(mark="m", receipt_ms=60_000, outcome=b"{}", result_ms=120_000, limit=1)


def held_child(scene: Scene, policy: str = "fp") -> tuple[str, int]:
    """The only child of a parent on the same queue, held."""
    child = new_id()
    flow_add(scene.client, scene.name, (new_id(), "p"), {child: "c"})
    fail_policy(scene.client, scene.name, child, policy)
    return child, scene.claim().token


def held_far_child(scene: Scene) -> tuple[str, int]:
    """The only child of a parent on another queue, held."""
    parent, child = new_id(), new_id()
    hold_parent(scene.client, "other", parent, "p", 1)
    enqueue_child(scene.client, scene.name, (child, "c"), parent, "other")
    return child, scene.claim().token


def failed(
    scene: Scene, job_id: str, token: int, most: int, report: bytes | None = None
) -> Call[Any]:
    """A retry of a held job that may have ``most`` attempts."""
    return calls.retry(
        scene.keys, job_id, token, delay_ms=1000, max_attempts=most, error="boom", report=report
    )


@case("complete", "1")
def a_held_job(scene: Scene) -> Call[Any]:
    held = scene.held(label="w1")
    return calls.complete(scene.keys, held.job_id, held.token, held.label)


@case("complete", "1")
def leaving_a_receipt(scene: Scene) -> Call[Any]:
    held = scene.held()
    return calls.complete(scene.keys, held.job_id, held.token, "", RECEIPT)


@case("complete", "1")
def after_a_reap(scene: Scene) -> Call[Any]:
    held = scene.reaped(scene.held())
    return calls.complete(scene.keys, held.job_id, held.token)


@case("complete", "1")
def after_a_reap_into_low(scene: Scene) -> Call[Any]:
    held = scene.reaped(scene.held())
    scene.client.zrem(scene.keys.pending, held.job_id)
    scene.client.zadd(scene.key("low"), {held.job_id: 0})
    return calls.complete(scene.keys, held.job_id, held.token)


@case("complete", "1")
def in_a_lane(scene: Scene) -> Call[Any]:
    job_id, token = held_in_lane(scene)
    held_in_lane(scene)
    return calls.complete(scene.keys, job_id, token)


@case("complete", "1")
def in_a_lane_after_a_reap(scene: Scene) -> Call[Any]:
    job_id, token = held_in_lane(scene)
    scene.lapse(job_id)
    scene.queue.reap()
    return calls.complete(scene.keys, job_id, token)


@case("complete", "1")
def a_child(scene: Scene) -> Call[Any]:
    return calls.complete(scene.keys, *held_child(scene))


@case("complete", "1")
def a_child_of_another_queue(scene: Scene) -> Call[Any]:
    return calls.complete(scene.keys, *held_far_child(scene))


@case("complete", "0")
def no_such_job(scene: Scene) -> Call[Any]:
    return calls.complete(scene.keys, new_id(), 1)


@case("complete", "EMQSTALE")
def with_another_token(scene: Scene) -> Call[Any]:
    return calls.complete(scene.keys, scene.held().job_id, 2)


@case("complete", "ERR")
def a_receipt_that_is_no_number(scene: Scene) -> Call[Any]:
    held = scene.held()
    call = calls.complete(scene.keys, held.job_id, held.token, "", RECEIPT)
    return replace(call, args=(*call.args[:4], "soon", "r"))


@case("complete_keep", "ERR")
def a_bound_that_is_no_number(scene: Scene) -> Call[Any]:
    held = scene.held()
    call = calls.complete(scene.keys, held.job_id, held.token, "", OUTCOME)
    return replace(call, args=(*call.args[:8], "few"))


@case("complete_keep", "1")
def over_the_bound(scene: Scene) -> Call[Any]:
    for _ in range(2):
        held = scene.held()
        scene.queue.complete(held, OUTCOME)
    held = scene.held()
    return calls.complete(scene.keys, held.job_id, held.token, "", OUTCOME)


@case("complete_keep", "0")
def nothing_to_keep(scene: Scene) -> Call[Any]:
    return calls.complete(scene.keys, new_id(), 1, "", OUTCOME)


@case("complete_keep", "EMQSTALE")
def kept_with_another_token(scene: Scene) -> Call[Any]:
    return calls.complete(scene.keys, scene.held().job_id, 2, "", OUTCOME)


@case("retry", "scheduled")
def another_attempt(scene: Scene) -> Call[Any]:
    held = scene.held()
    return failed(scene, held.job_id, held.token, 3, b"{}")


@case("retry", "scheduled")
def another_attempt_in_a_lane(scene: Scene) -> Call[Any]:
    return failed(scene, *held_in_lane(scene), 3)


@case("retry", "dead")
def the_last_attempt(scene: Scene) -> Call[Any]:
    held = scene.held()
    return failed(scene, held.job_id, held.token, 1, b"{}")


@case("retry", "dead")
def a_child_that_fails_its_parent(scene: Scene) -> Call[Any]:
    return failed(scene, *held_child(scene), 1)


@case("retry", "dead")
def a_child_whose_death_is_ignored(scene: Scene) -> Call[Any]:
    return failed(scene, *held_child(scene, "id"), 1)


@case("retry", "dead")
def a_dead_child_of_another_queue(scene: Scene) -> Call[Any]:
    return failed(scene, *held_far_child(scene), 1)


@case("retry", "EMQSTALE")
def a_retry_of_nothing(scene: Scene) -> Call[Any]:
    return failed(scene, new_id(), 1, 3)


@case("retry", "ERR")
def a_delay_that_is_no_number(scene: Scene) -> Call[Any]:
    held = scene.held()
    return replace(
        failed(scene, held.job_id, held.token, 3), args=(held.job_id, "1", "soon", 3, "boom")
    )


@case("release", "1")
def given_back(scene: Scene) -> Call[Any]:
    held = scene.held()
    return calls.release(scene.keys, held.job_id, held.token)


@case("release", "1")
def given_back_to_its_lane(scene: Scene) -> Call[Any]:
    return calls.release(scene.keys, *held_in_lane(scene))


@case("release", "EMQSTALE")
def given_back_after_a_reap(scene: Scene) -> Call[Any]:
    held = scene.reaped(scene.held())
    return calls.release(scene.keys, held.job_id, held.token)


@case("delay", "1")
def for_a_while(scene: Scene) -> Call[Any]:
    held = scene.held()
    return calls.delay_in(scene.keys, held.job_id, held.token, 1000)


@case("delay", "1")
def until_an_instant_in_a_lane(scene: Scene) -> Call[Any]:
    laned_id, token = held_in_lane(scene)
    return calls.delay_at(scene.keys, laned_id, token, 1000)


@case("delay", "EMQKIND")
def delayed_of_another_kind(scene: Scene) -> Call[Any]:
    return calls.delay_in(scene.keys, ORDER, 1, 1000)


@case("delay", "EMQSTALE")
def delayed_with_another_token(scene: Scene) -> Call[Any]:
    return calls.delay_in(scene.keys, scene.held().job_id, 2, 1000)


@case("delay", "ERR")
def delayed_by_a_word(scene: Scene) -> Call[Any]:
    held = scene.held()
    call = calls.delay_in(scene.keys, held.job_id, held.token, 1000)
    return replace(call, args=(held.job_id, "1", "in", "a while"))


@case("extend", "1")
def a_lease_in_time(scene: Scene) -> Call[Any]:
    held = scene.held()
    return calls.extend(scene.keys, held.job_id, held.token, 1000)


@case("extend", "-1")
def a_lease_of_nothing(scene: Scene) -> Call[Any]:
    return calls.extend(scene.keys, new_id(), 1, 1000)


@case("extend", "EMQSTALE")
def a_lease_that_lapsed(scene: Scene) -> Call[Any]:
    held = scene.reaped(scene.held())
    return calls.extend(scene.keys, held.job_id, held.token, 1000)


@case("extend", "ERR")
def a_lease_of_zero(scene: Scene) -> Call[Any]:
    held = scene.held()
    call = calls.extend(scene.keys, held.job_id, held.token, 1000)
    return replace(call, args=(held.job_id, "1", 0, ""))


@case("extend_many", "[id]")
def live_stale_and_gone(scene: Scene) -> Call[Any]:
    live, stale = scene.held(), scene.held()
    claims = [Extension(live.job_id, 1, ""), Extension(stale.job_id, 9, "")]
    return calls.extend_many(scene.keys, 1000, [*claims, Extension(new_id(), 1, "")])


@case("extend_many", "ERR")
def leases_of_zero(scene: Scene) -> Call[Any]:
    return replace(calls.extend_many(scene.keys, 1000, []), args=(0,))
