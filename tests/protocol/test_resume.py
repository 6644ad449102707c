from __future__ import annotations

from tests.protocol.scene import Scene


def test_a_resumed_queue_serves_the_same_head(scene: Scene) -> None:
    job_id = scene.enqueue()
    scene.queue.pause()

    assert scene.queue.resume() is True

    assert not scene.queue.is_paused()
    assert not scene.client.exists(scene.keys.meta)
    assert scene.claim().job_id == job_id


def test_a_second_resume_changes_nothing(scene: Scene) -> None:
    assert scene.queue.resume() is False
    assert scene.snapshot() == {}


def test_a_resume_wakes_as_many_workers_as_jobs_wait_up_to_64(scene: Scene) -> None:
    for _ in range(3):
        scene.enqueue()
    scene.queue.pause()
    scene.client.delete(scene.keys.wake)
    scene.queue.resume()
    assert scene.wakes() == 3

    for _ in range(80):
        scene.enqueue()
    scene.queue.pause()
    scene.client.delete(scene.keys.wake)
    scene.queue.resume()
    assert scene.wakes() == 64


def test_a_pause_leaves_other_facts_of_the_queue_alone(scene: Scene) -> None:
    scene.client.hset(scene.keys.meta, "concurrency", "5")

    scene.queue.pause()
    scene.queue.resume()

    assert scene.client.hgetall(scene.keys.meta) == {b"concurrency": b"5"}
