from __future__ import annotations

import pytest

from echomq_app.protocol.errors import WrongType
from tests.foreign.seeds import seed_claim
from tests.protocol.scene import LONG, Scene


def test_a_paused_queue_keeps_its_jobs_and_hands_out_none(scene: Scene) -> None:
    job_id = scene.enqueue()

    assert scene.queue.pause() is True

    assert scene.queue.is_paused()
    assert scene.queue.claim_many(LONG, 5) == []
    assert scene.queue.claim(LONG) is None
    assert seed_claim(scene.client, scene.name, 1000) is None
    assert scene.members("pending") == [job_id]


def test_a_second_pause_changes_nothing(scene: Scene) -> None:
    scene.queue.pause()

    assert scene.queue.pause() is False

    assert scene.snapshot() == {scene.keys.meta: ("hash", {"paused": "1"}, False)}


def test_a_held_job_is_finished_on_a_paused_queue(scene: Scene) -> None:
    held = scene.held()
    scene.queue.pause()

    scene.queue.complete(held)

    assert scene.queue.facts().counts.completed == 1
    assert scene.queue.facts().paused


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_meta_of_another_type_is_refused_by_name(scene: Scene, verb: str) -> None:
    scene.client.set(scene.keys.meta, "x")
    before = scene.snapshot()

    with pytest.raises(WrongType, match="WRONGTYPE"):
        getattr(scene.queue, verb)()

    assert scene.snapshot() == before
