"""The seed's claim: its reply, its order, and what that order costs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidLease, ServerFault, WrongType
from tests.foreign.seeds import seed_claim
from tests.protocol.scene import Scene, new_id

MINUTE = timedelta(minutes=1)


def test_a_claim_hands_out_the_oldest_job_with_token_1(scene: Scene) -> None:
    second, first = new_id(), scene.enqueue(b"first")
    older = min(first, second)
    scene.enqueue(b"second", job_id=second)

    held = scene.queue.claim(MINUTE)

    assert held is not None
    assert (held.job_id, held.token, held.label) == (older, 1, "")
    assert scene.places(held.job_id) == ["active"]


def test_without_a_label_the_row_is_the_seed_s_row(scene: Scene) -> None:
    ours, theirs = scene.enqueue(), scene.enqueue()

    scene.queue.claim(MINUTE)
    held = seed_claim(scene.client, scene.name, 60_000)

    assert held is not None
    assert held.job_id == theirs
    assert scene.row(ours) == scene.row(theirs)
    assert scene.row(ours) == {"state": "active", "attempts": "1", "payload": "w"}


def test_with_a_label_the_row_says_who_claimed_and_when(scene: Scene) -> None:
    job_id = scene.enqueue()
    before = scene.server_ms()

    scene.queue.claim(MINUTE, "host:1:7")

    worker, claimed_at = scene.fields(job_id, "worker", "claimed_at")
    assert worker == "1 host:1:7"
    assert before <= int(claimed_at or 0) <= scene.server_ms()


def test_the_deadline_is_the_servers_clock_and_the_lease(scene: Scene) -> None:
    job_id = scene.enqueue()
    before = scene.server_ms()

    scene.queue.claim(MINUTE)

    deadline = scene.score("active", job_id)
    assert deadline is not None
    assert before + 60_000 <= deadline <= scene.server_ms() + 60_000


def test_each_claim_hands_out_the_next_token(scene: Scene) -> None:
    scene.reaped(scene.held())

    held = scene.queue.claim(MINUTE)

    assert held is not None
    assert held.token == 2


def test_a_ghost_is_consumed_and_no_skeleton_is_written(scene: Scene) -> None:
    ghost = new_id()
    scene.client.zadd(scene.keys.pending, {ghost: 0})

    assert scene.run(calls.claim(scene.keys, 1000)) is None

    assert scene.snapshot() == {}


def test_the_host_asks_again_while_only_ghosts_come_up(scene: Scene) -> None:
    for _ in range(5):
        scene.client.zadd(scene.keys.pending, {new_id(): 0})
    job_id = scene.enqueue()

    held = scene.queue.claim(MINUTE)

    assert held is not None
    assert held.job_id == job_id
    assert scene.members("pending") == []


@pytest.mark.parametrize("flag", ["1", "0", ""])
def test_a_paused_queue_answers_nothing_and_stays_untouched(scene: Scene, flag: str) -> None:
    scene.enqueue()
    scene.client.hset(scene.keys.meta, "paused", flag)
    before = scene.snapshot()

    assert scene.queue.claim(MINUTE) is None

    assert scene.snapshot() == before


def test_a_pause_flag_that_cannot_be_read_counts_as_paused(scene: Scene) -> None:
    scene.enqueue()
    scene.client.set(scene.keys.meta, "x")

    assert scene.queue.is_paused()
    assert scene.queue.claim(MINUTE) is None


@pytest.mark.parametrize("lease", [0, -1, 2**31 + 1, 1.5, "60000", True, None])
def test_a_wrong_lease_is_refused_before_any_wire(scene: Scene, lease: int) -> None:
    with pytest.raises(InvalidLease) as refused:
        calls.claim(scene.keys, lease)

    assert str(refused.value) == (
        f"a lease is a whole number of milliseconds from 1 to 2147483648; got {lease!r}"
    )


def test_a_lease_may_be_as_short_and_as_long_as_it_says(scene: Scene) -> None:
    assert calls.claim(scene.keys, 1).args == (1,)
    assert calls.claim(scene.keys, 2**31).args == (2**31,)


def test_the_seed_s_order_loses_an_id_whose_row_or_set_is_broken(scene: Scene) -> None:
    text, word, good = new_id(), new_id(), new_id()
    scene.client.set(scene.keys.row(text), "x")
    scene.client.hset(scene.keys.row(word), mapping={"attempts": "x", "payload": "w"})
    scene.client.zadd(scene.keys.pending, {text: 0, word: 0})
    scene.enqueue(job_id=good)

    with pytest.raises(WrongType):
        scene.run(calls.claim(scene.keys, 1000))
    with pytest.raises(ServerFault, match="hash value is not an integer"):
        scene.run(calls.claim(scene.keys, 1000))
    scene.client.set(scene.keys.active, "x")
    with pytest.raises(WrongType):
        scene.run(calls.claim(scene.keys, 1000))

    assert scene.members("pending") == []
    assert scene.row(good) == {"state": "active", "attempts": "1", "payload": "w"}
