"""Scenarios of batches: many claimed at once, settled one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import Stale
from echomq_app.protocol.states import Retried, State
from echomq_app.runtime.batches import BatchConsumer
from echomq_app.runtime.events import Event
from echomq_app.runtime.outcomes import Completed, Delayed, Failed, Outcome
from echomq_app.runtime.shaping import MISSING, Shape, partition, size_now
from echomq_app.service.records import Lease
from tests.protocol.scene import LONG, Scene, new_id
from tests.runtime.scene import Clock, Tale

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)


class Hands:
    """A handler that completes what it is not told to judge otherwise, and keeps its batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.verdicts: dict[str, Outcome | None] = {}

    def __call__(self, batch: Sequence[Lease]) -> Mapping[str, Outcome]:
        self.batches.append([held.job_id for held in batch])
        told = {held.job_id: self.verdicts.get(held.job_id, Completed()) for held in batch}
        return {job_id: verdict for job_id, verdict in told.items() if verdict is not None}


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


def test_65_batch_shaping_floor(scene: Scene) -> None:
    shape = Shape(floor=3, ceiling=4, timeout=SECOND)
    table = [(depth, size_now(shape, depth, timedelta())) for depth in range(6)]
    assert table == [(0, 0), (1, 0), (2, 0), (3, 3), (4, 4), (5, 4)]

    hands = Hands()
    consumer = BatchConsumer(scene.queue, hands, shape, now=Clock())
    jobs = [scene.enqueue(), scene.enqueue()]
    consumer.tick()
    assert hands.batches == []
    jobs.append(scene.enqueue())
    consumer.tick()

    assert hands.batches == [jobs]
    assert [scene.places(job_id) for job_id in jobs] == [[], [], []]


def test_66_batch_shaping_timeout(scene: Scene) -> None:
    hands, clock = Hands(), Clock()
    consumer = BatchConsumer(scene.queue, hands, Shape(floor=5, timeout=SECOND), now=clock)
    clock.pass_(60)
    consumer.tick()
    assert hands.batches == []

    jobs = [scene.enqueue(), scene.enqueue()]
    consumer.tick()
    clock.pass_(0.9)
    consumer.tick()
    assert hands.batches == []
    clock.pass_(0.1)
    consumer.tick()

    assert hands.batches == [jobs]


def test_67_batch_shaping_partial_failure(scene: Scene) -> None:
    hands = Hands()
    good, forgotten = scene.enqueue(), scene.enqueue()
    hands.verdicts = {forgotten: None}

    BatchConsumer(scene.queue, hands, Shape(floor=2)).tick()

    assert scene.fields(forgotten, "state", "last_error") == ["scheduled", MISSING]
    assert scene.queue.facts().counts.completed == 1
    assert scene.places(good) == []


def test_71_batch_partition(scene: Scene) -> None:
    hands, tale = Hands(), Tale()
    done, kept, retried, dead, parked = [scene.enqueue() for _ in range(5)]
    again = Failed(error="boom", report=None, delay=MINUTE, max_attempts=3)
    hands.verdicts = {
        retried: again,
        dead: Failed(error="boom", report=None, delay=MINUTE, max_attempts=1),
        parked: Delayed(delay=MINUTE, why="later"),
    }

    BatchConsumer(scene.queue, hands, Shape(floor=5), report=tale).tick()

    ends = (Event.COMPLETED, Event.RETRIED, Event.BURIED, Event.DELAYED)
    found = partition((str(facts["job"]), event) for event, facts in tale.told if event in ends)
    assert found == ((done, kept), (retried,), (dead,), (parked,), (), ())
    assert [scene.queue.state(job_id) for job_id in (retried, dead, parked)] == [
        State.SCHEDULED,
        State.DEAD,
        State.SCHEDULED,
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
