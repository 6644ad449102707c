from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import InvalidInput, WrongType
from echomq_app.protocol.replies import Beat
from tests.protocol.lanes import GROUP, OTHER, laned
from tests.protocol.scene import Scene, new_id


def beat(scene: Scene, *, batch: int = 100, size: int = 10) -> Beat:
    return scene.run(calls.beat(scene.keys, batch=batch, lease=60_000, size=size, label="w1"))


def due(scene: Scene) -> str:
    """A parked job whose instant is past."""
    job_id = new_id()
    scene.run(calls.schedule_at(scene.keys, job_id, b"w", 1))
    return job_id


def test_a_beat_reaps_promotes_trims_and_claims(scene: Scene) -> None:
    lapsed, over = scene.held(), scene.held()
    scene.queue.complete(over, Retention(mark="m", receipt_ms=60_000))
    scene.client.zadd(scene.keys.expire, {over.job_id: 1})
    scene.lapse(lapsed.job_id)
    promoted, waiting = due(scene), scene.enqueue()

    told = beat(scene)

    assert told[:3] == (1, 1, 1)
    assert {job.job_id for job in told.jobs} == {lapsed.job_id, promoted, waiting}
    assert [job.job_id for job in told.jobs] == sorted(job.job_id for job in told.jobs)
    assert scene.members("pending") == []


def test_a_beat_of_no_size_claims_nothing(scene: Scene) -> None:
    job_id = scene.enqueue()

    assert beat(scene, size=0).jobs == []
    assert scene.members("pending") == [job_id]


def test_a_beat_of_no_batch_claims_alone(scene: Scene) -> None:
    parked, waiting = due(scene), scene.enqueue()

    told = beat(scene, batch=0)

    assert [job.job_id for job in told.jobs] == [waiting]
    assert scene.places(parked) == ["schedule"]


def test_a_paused_queue_is_swept_but_not_claimed_from(scene: Scene) -> None:
    parked = due(scene)
    scene.queue.pause()

    told = beat(scene)

    assert (told.promoted, told.jobs) == (1, [])
    assert scene.places(parked) == ["pending"]


def test_a_beat_says_how_long_it_is_until_something_falls_due(scene: Scene) -> None:
    assert beat(scene).next_ms is None

    scene.run(calls.schedule_at(scene.keys, new_id(), b"w", scene.server_ms() + 5000))
    soon = beat(scene).next_ms
    assert soon is not None
    assert 0 < soon <= 5000

    scene.client.zadd(scene.keys.active, {new_id(): scene.server_ms() + 1000})
    sooner = beat(scene).next_ms
    assert sooner is not None
    assert 0 < sooner <= 1000


def test_what_is_overdue_after_a_full_batch_is_due_at_once(scene: Scene) -> None:
    for _ in range(3):
        due(scene)

    told = beat(scene, batch=2)

    assert (told.promoted, told.next_ms) == (2, 0)


def test_a_beat_wakes_others_for_what_it_does_not_take_itself(scene: Scene) -> None:
    for _ in range(5):
        due(scene)

    beat(scene, size=2)

    assert scene.wakes() == 3


@pytest.mark.parametrize("kind", ["schedule", "pending", "active", "dead"])
def test_a_set_of_another_type_refuses_the_beat_before_it_moves_anything(
    scene: Scene, kind: str
) -> None:
    lapsed = scene.held()
    scene.lapse(lapsed.job_id)
    due(scene)
    scene.client.delete(scene.key(kind))
    scene.client.set(scene.key(kind), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        beat(scene)

    assert scene.snapshot() == before


def test_broken_retention_stops_no_claim(scene: Scene) -> None:
    scene.client.set(scene.keys.expire, "x")
    job_id = scene.enqueue()

    told = beat(scene)

    assert (told.trimmed, [job.job_id for job in told.jobs]) == (0, [job_id])


@pytest.mark.parametrize(
    ("batch", "size", "sentence"),
    [
        (-1, 1, "a batch is a whole number from 0 to 9007199254740991; got -1"),
        (1, 1001, "a batch size is a whole number from 0 to 1000; got 1001"),
        (1, -1, "a batch size is a whole number from 0 to 1000; got -1"),
    ],
)
def test_a_number_out_of_range_is_refused_before_any_wire(
    scene: Scene, batch: int, size: int, sentence: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        beat(scene, batch=batch, size=size)

    assert str(refused.value) == sentence


def groups(scene: Scene) -> set[str]:
    return {one.decode() for one in scene.client.smembers(scene.keys.base + "groups")}


def test_a_beat_lists_the_lanes_that_other_programs_fill(scene: Scene) -> None:
    laned(scene, GROUP)
    laned(scene, OTHER)
    scene.client.delete(scene.keys.base + "ring")
    scene.client.sadd(scene.keys.base + "paused", OTHER)
    assert groups(scene) == set()

    beat(scene, size=0)

    assert groups(scene) == {OTHER}


def test_a_beat_forgets_the_lanes_that_other_programs_emptied(scene: Scene) -> None:
    laned(scene, GROUP)
    beat(scene, size=0)
    assert groups(scene) == {GROUP}
    scene.client.delete(scene.keys.base + f"g:{GROUP}:pending")

    beat(scene, size=0)

    assert groups(scene) == set()


def test_lists_of_lanes_that_cannot_be_read_stop_no_beat(scene: Scene) -> None:
    for name in ("ring", "gactive", "paused", "groups"):
        scene.client.set(scene.keys.base + name, "text")
    waiting = scene.enqueue()

    assert [job.job_id for job in beat(scene).jobs] == [waiting]
