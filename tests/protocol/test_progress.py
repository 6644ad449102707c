from __future__ import annotations

import json

import pytest

from tests.eventually import eventually
from tests.protocol.scene import Scene, new_id


def test_progress_is_noted_on_the_row(scene: Scene) -> None:
    job_id = scene.enqueue()

    assert scene.queue.progress(job_id, "half way") is True

    assert scene.fields(job_id, "progress", "state") == ["half way", "pending"]


@pytest.mark.parametrize("text", ["50", 'a "quoted"\n\\ line', "é ✓", ""])
def test_progress_is_published_as_json(scene: Scene, text: str) -> None:
    job_id = scene.enqueue()
    with scene.client.pubsub(ignore_subscribe_messages=True) as listener:
        listener.subscribe(scene.keys.events)
        eventually(lambda: scene.client.pubsub_numsub(scene.keys.events)[0][1] == 1)

        scene.queue.progress(job_id, text)

        heard = eventually(lambda: listener.get_message(timeout=0.1))
        assert json.loads(heard["data"]) == {"event": "progress", "job": job_id, "progress": text}


def test_progress_of_a_job_that_is_gone_writes_nothing(scene: Scene) -> None:
    assert scene.queue.progress(new_id(), "50") is False
    assert scene.snapshot() == {}
