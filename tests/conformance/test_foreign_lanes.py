"""Lanes that others fill, claim and steer: our settling keeps their books."""

from __future__ import annotations

from datetime import timedelta

from echomq_app.protocol import calls
from tests.foreign.lanes import LaneClaim, lane_claim, lane_limit, lane_pause, lane_resume
from tests.protocol.lanes import GROUP, OTHER, Books, books, held_in_lane, laned
from tests.protocol.scene import Scene


def claim(scene: Scene) -> LaneClaim:
    """The next job of the ring."""
    held = lane_claim(scene.client, scene.name)
    assert held is not None
    return held


def complete(scene: Scene, held: LaneClaim) -> None:
    scene.run(calls.complete(scene.keys, held.job_id, held.token))


def test_others_rotate(scene: Scene) -> None:
    for group in (GROUP, GROUP, OTHER, OTHER):
        laned(scene, group)

    served = []
    for _ in range(4):
        held = claim(scene)
        served.append(held.group)
        complete(scene, held)

    assert served == [GROUP, OTHER, GROUP, OTHER]
    assert books(scene) == books(scene, OTHER) == Books((), 0, False)


def test_others_pause(scene: Scene) -> None:
    held = held_in_lane(scene)
    waiting = laned(scene)
    lane_pause(scene.client, scene.name, GROUP)

    scene.run(calls.release(scene.keys, held.job_id, held.token))
    assert books(scene) == Books((held.job_id, waiting), 0, False)
    assert lane_claim(scene.client, scene.name) is None

    lane_resume(scene.client, scene.name, GROUP)
    assert claim(scene).job_id == held.job_id


def test_others_limit(scene: Scene) -> None:
    lane_limit(scene.client, scene.name, GROUP, 1)
    laned(scene)
    waiting = laned(scene)
    held = claim(scene)
    assert lane_claim(scene.client, scene.name) is None
    assert books(scene) == Books((waiting,), 1, False)

    complete(scene, held)

    assert claim(scene).job_id == waiting


def test_a_lane_is_known_while_it_has_work_and_forgotten_with_its_last_job(scene: Scene) -> None:
    first, second = held_in_lane(scene), held_in_lane(scene, OTHER)
    for held in (first, second):
        scene.run(calls.release(scene.keys, held.job_id, held.token))
    assert scene.client.smembers(scene.key("groups")) == {GROUP.encode(), OTHER.encode()}

    complete(scene, claim(scene))
    assert scene.client.smembers(scene.key("groups")) == {OTHER.encode()}

    scene.queue.remove(second.job_id)
    assert not scene.client.exists(scene.key("groups"))


def test_lanes_survive_every_way_a_job_can_leave_and_come_back(scene: Scene) -> None:
    lane_limit(scene.client, scene.name, GROUP, 1)
    job_id = laned(scene)

    scene.run(calls.release(scene.keys, job_id, claim(scene).token))
    scene.run(calls.delay_at(scene.keys, job_id, claim(scene).token, 1))
    assert scene.queue.promote() == 1
    claim(scene)
    scene.lapse(job_id)
    assert scene.queue.reap() == 1
    scene.run(
        calls.retry(
            scene.keys, job_id, claim(scene).token, delay_ms=0, max_attempts=0, error="boom"
        )
    )
    scene.queue.requeue(job_id)
    scene.run(
        calls.retry(
            scene.keys, job_id, claim(scene).token, delay_ms=0, max_attempts=9, error="boom"
        )
    )
    scene.fall_due(job_id)
    assert scene.queue.promote() == 1
    assert books(scene) == Books((job_id,), 0, True)
    assert scene.queue.remove(job_id, receipt_for=timedelta(minutes=1)) is True

    assert books(scene) == Books((), 0, False)
