"""Scenarios that the seeds call for and the reference's list lacks."""

from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidQueueName
from echomq_app.service.queue import Queue
from tests.foreign.seeds import seed_claim, seed_claim2, seed_enqueue
from tests.protocol.scene import Scene, new_id

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("name", ["a{b", "a}b", "a\0b"])
def test_a_queue_name_with_a_brace_or_nul_is_refused_before_any_key(
    scene: Scene, name: str
) -> None:
    with pytest.raises(InvalidQueueName, match="a queue name holds no"):
        Queue(scene.wire, name)

    assert scene.snapshot() == {}


def test_a_ghost_is_consumed_and_the_next_claim_serves_the_head(scene: Scene) -> None:
    ghost = new_id()
    scene.client.zadd(scene.keys.pending, {ghost: 0})
    job_id = scene.enqueue()

    assert scene.run(calls.claim(scene.keys, 1000)) is None
    assert scene.row(ghost) == {}
    held = scene.run(calls.claim(scene.keys, 1000))

    assert held is not None
    assert held.job_id == job_id


def test_a_claim_declares_three_keys_and_one_argument(scene: Scene) -> None:
    call = calls.claim(scene.keys, 60_000)

    assert call.keys == (scene.keys.pending, scene.keys.active, scene.keys.base)
    assert call.args == (60_000,)


def test_the_seed_s_producer_feeds_our_claim_and_ours_the_seed_s_claimer(scene: Scene) -> None:
    theirs, ours = new_id(), new_id()
    assert seed_enqueue(scene.client, scene.name, theirs, b"theirs") == 1
    scene.enqueue(b"ours", job_id=ours)

    held = scene.claim("w1")
    foreign = seed_claim(scene.client, scene.name, 60_000)

    assert (held.job_id, held.payload, held.token) == (theirs, b"theirs", 1)
    assert foreign == (ours, b"ours", 1)
    scene.queue.complete(held)
    assert scene.run(calls.complete(scene.keys, ours, 1))


def test_our_pause_stops_the_seed_s_claimer_unless_it_has_read_the_flag_before(
    scene: Scene,
) -> None:
    job_id = scene.enqueue()
    scene.queue.pause()

    assert seed_claim(scene.client, scene.name, 60_000) is None

    late = seed_claim2(scene.client, scene.name, 60_000)
    assert late is not None
    assert late.job_id == job_id


def test_our_reap_gives_back_what_the_seed_s_claimer_let_lapse(scene: Scene) -> None:
    job_id = scene.enqueue()
    seed_claim(scene.client, scene.name, 60_000)
    scene.lapse(job_id)

    assert scene.queue.reap() == 1

    assert scene.claim("w1").token == 2


def test_a_foreign_complete_leaves_no_key_of_ours_for_ever(scene: Scene) -> None:
    held = scene.held(label="w1")
    scene.queue.add_log(held.job_id, "a line")
    scene.queue.retry(held, delay=MINUTE, max_attempts=3, error="boom", report=b"{}")

    for subkey in (scene.keys.logs(held.job_id), scene.keys.errors(held.job_id)):
        assert scene.client.pttl(subkey) > 0
