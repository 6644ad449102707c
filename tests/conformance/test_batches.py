"""Scenarios of batches: many claimed at once, settled one by one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import Stale
from echomq_app.protocol.states import Retried
from tests.protocol.scene import LONG, Scene, new_id

MINUTE = timedelta(minutes=1)


def test_62_batch_claim(scene: Scene) -> None:
    jobs = [scene.enqueue() for _ in range(8)]

    held = scene.queue.claim_many(LONG, 4)

    assert [one.job_id for one in held] == jobs[:4]
    assert {one.token for one in held} == {1}
    assert len({scene.score("active", job_id) for job_id in jobs[:4]}) == 1


def test_63_batch_claim_short(scene: Scene) -> None:
    for _ in range(3):
        scene.enqueue()

    assert len(scene.queue.claim_many(LONG, 7)) == 3
    assert scene.queue.claim_many(LONG, 7) == []

    scene.enqueue()
    scene.queue.pause()
    assert scene.queue.claim_many(LONG, 7) == []
    assert scene.queue.pending_size() == 1


def test_64_batch_partial_failure(scene: Scene) -> None:
    for _ in range(4):
        scene.enqueue()
    failed, *good = scene.queue.claim_many(LONG, 4)

    for held in good:
        scene.queue.complete(held)
    verdict = scene.queue.retry(failed, delay=timedelta(), max_attempts=3, error="boom")
    scene.fall_due(failed.job_id)
    scene.queue.promote()

    assert verdict is Retried.SCHEDULED
    assert [(held.job_id, held.token) for held in scene.queue.claim_many(LONG, 4)] == [
        (failed.job_id, 2)
    ]


def test_72_batch_delay(scene: Scene) -> None:
    held = scene.held()

    scene.queue.delay(held, MINUTE)

    assert scene.places(held.job_id) == ["schedule"]
    assert scene.fields(held.job_id, "attempts") == ["1"]
    scene.fall_due(held.job_id)
    scene.queue.promote()
    assert scene.claim().token == 2


def test_73_batch_delay_stale(scene: Scene) -> None:
    held = scene.held()
    lease = scene.score("active", held.job_id)

    with pytest.raises(Stale, match=r"^EMQSTALE token"):
        scene.run(calls.delay_in(scene.keys, held.job_id, 9, 60_000))
    assert scene.score("active", held.job_id) == lease

    scene.queue.delay(held, MINUTE)
    with pytest.raises(Stale, match=r"^EMQSTALE gone"):
        scene.run(calls.delay_in(scene.keys, new_id(), 1, 60_000))
