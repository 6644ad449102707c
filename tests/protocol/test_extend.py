from __future__ import annotations

from echomq_app.protocol import calls
from tests.protocol.scene import LONG, Scene


def test_an_extended_lease_ends_later_and_outlives_the_reap(scene: Scene) -> None:
    held = scene.held()
    scene.lapse(held.job_id)
    before = scene.server_ms()

    assert scene.run(calls.extend(scene.keys, held.job_id, held.token, 60_000)) is True

    deadline = scene.score("active", held.job_id)
    assert deadline is not None
    assert before + 60_000 <= deadline <= scene.server_ms() + 60_000
    assert scene.queue.reap() == 0


def test_a_lease_may_be_cut_short(scene: Scene) -> None:
    held = scene.held()

    scene.run(calls.extend(scene.keys, held.job_id, held.token, 1))

    deadline = scene.score("active", held.job_id)
    assert deadline is not None
    assert deadline <= scene.server_ms() + 1


def test_extending_writes_nothing_on_the_row(scene: Scene) -> None:
    held = scene.held(label="w1")
    before = scene.row(held.job_id)

    scene.queue.extend([held], LONG)

    assert scene.row(held.job_id) == before
