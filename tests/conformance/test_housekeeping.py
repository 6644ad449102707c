"""Scenarios of repeats, and of what is done to queues, payloads, deduplication keys, under a ceiling."""

from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol.errors import CeilingReached, WrongState
from tests.foreign.lanes import lane_enqueue
from tests.protocol.lanes import GROUP
from tests.protocol.scene import LONG, Scene, new_id
from tests.protocol.schedules import repeat_is_due, repeats_of

MS = timedelta(milliseconds=1)


def test_16_repeat(scene: Scene) -> None:
    repeats = repeats_of(scene)
    assert repeats.register("report", LONG, b"daily", timedelta()) is True
    first_due = scene.score("repeat", "report") or 0

    (first,) = repeats.fire()
    assert (scene.score("repeat", "report") or 0) >= first_due + LONG / MS
    repeat_is_due(scene, "report")
    (second,) = repeats.fire()

    assert first.job_id < second.job_id
    assert scene.members("pending") == [first.job_id, second.job_id]
    assert repeats.count() == 1


def test_22_dedup(scene: Scene) -> None:
    job_id = new_id()

    assert scene.queue.dedup("once", job_id, LONG) == job_id

    assert scene.client.get(scene.key("de:once")) == job_id.encode()
    assert scene.queue.dedup_holder("once") == job_id
    assert scene.queue.dedup_holder("never") is None


def test_23_rate(scene: Scene) -> None:
    scene.queue.set_rate(1)
    scene.queue.rate()

    scene.held()

    with pytest.raises(CeilingReached, match=r"^EMQRATE"):
        scene.queue.rate()
    assert scene.client.hget(scene.keys.meta, "concurrency") == b"1"


def test_26_drain(scene: Scene) -> None:
    held = scene.held()
    waiting = [scene.enqueue() for _ in range(3)]

    assert scene.queue.drain() == 3

    assert [scene.client.exists(scene.keys.row(job_id)) for job_id in waiting] == [0, 0, 0]
    assert (scene.members("pending"), scene.members("active")) == ([], [held.job_id])
    assert scene.fields(held.job_id, "state") == ["active"]


def test_27_obliterate(scene: Scene) -> None:
    scene.dead()
    scene.enqueue()
    scene.queue.schedule_in(new_id(), b"w", LONG)
    before = scene.snapshot()

    with pytest.raises(WrongState, match=r"^EMQSTATE"):
        scene.queue.obliterate()
    assert scene.snapshot() == before

    scene.queue.pause()
    scene.queue.obliterate()
    assert [scene.members(kind) for kind in ("pending", "active", "schedule", "dead")] == [[]] * 4


def test_28_update_data(scene: Scene) -> None:
    job_id = scene.enqueue(b"old")

    assert scene.queue.update_data(job_id, b"new") is True
    assert scene.queue.update_data(new_id(), b"new") is False

    assert scene.fields(job_id, "payload") == ["new"]


def test_39_rate_consult(scene: Scene) -> None:
    scene.enqueue()
    scene.enqueue()
    scene.queue.set_rate(1)

    assert len(scene.queue.rate_consult(LONG, 1)) == 1
    with pytest.raises(CeilingReached):
        scene.queue.rate_consult(LONG, 1)

    assert (len(scene.members("pending")), len(scene.members("active"))) == (1, 1)


def test_43_obliterate_grouped(scene: Scene) -> None:
    lane_enqueue(scene.client, scene.name, GROUP, new_id(), "w")
    scene.queue.pause()

    scene.queue.obliterate()

    assert [key for key in scene.snapshot() if key.startswith(scene.keys.base)] == []
