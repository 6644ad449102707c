from __future__ import annotations

from datetime import timedelta

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Extension
from tests.protocol.scene import LONG, Scene, new_id


def test_many_leases_get_one_deadline_and_the_lost_ones_are_named(scene: Scene) -> None:
    live, other = scene.held(label="w1"), scene.held(label="w1")
    stale, gone = scene.held(label="w1"), scene.held(label="w1")
    scene.queue.complete(gone)
    scene.reaped(stale)
    claims = [live, stale, gone, other]

    lost = scene.queue.extend(claims, timedelta(hours=1))

    assert lost == [stale.job_id, gone.job_id]
    assert scene.score("active", live.job_id) == scene.score("active", other.job_id)
    assert scene.places(stale.job_id) == ["pending"]


def test_another_token_or_label_loses_its_lease_alone(scene: Scene) -> None:
    one, two, three = (scene.held(label="w1") for _ in range(3))
    claims = [
        Extension(one.job_id, one.token + 1, "w1"),
        Extension(two.job_id, two.token, "w2"),
        Extension(three.job_id, three.token, "w1"),
    ]

    lost = scene.run(calls.extend_many(scene.keys, 1000, claims))

    assert lost == [one.job_id, two.job_id]


def test_a_row_that_cannot_be_read_loses_its_lease_and_stops_no_other(scene: Scene) -> None:
    broken, whole = scene.held(), scene.held()
    scene.client.delete(scene.keys.row(broken.job_id))
    scene.client.set(scene.keys.row(broken.job_id), "x")
    scene.lapse(whole.job_id)

    assert scene.queue.extend([broken, whole], LONG) == [broken.job_id]

    assert scene.queue.reap() == 0


def test_extending_nothing_is_no_error(scene: Scene) -> None:
    assert scene.run(calls.extend_many(scene.keys, 1000, [])) == []


def test_a_job_that_nobody_claimed_is_never_put_into_active(scene: Scene) -> None:
    job_id = scene.enqueue()

    lost = scene.run(
        calls.extend_many(scene.keys, 1000, [Extension(job_id, 1, ""), Extension(new_id(), 1, "")])
    )

    assert job_id in lost
    assert scene.members("active") == []
