from __future__ import annotations

from echomq_app.protocol import calls
from tests.protocol.lanes import GROUP, Books, books, held_in_lane
from tests.protocol.scene import Scene


def test_a_released_job_waits_again_at_once_in_its_old_place_in_line(scene: Scene) -> None:
    held = scene.held(label="w1")
    younger = scene.enqueue()

    scene.queue.release(held)

    assert scene.members("pending") == [held.job_id, younger]
    assert scene.places(held.job_id) == ["pending"]
    assert scene.fields(held.job_id, "state", "attempts", "excused", "settled") == [
        "pending",
        "1",
        "1",
        "1 release w1",
    ]


def test_a_release_wakes_a_worker(scene: Scene) -> None:
    held = scene.held()
    assert scene.wakes() == 0 or scene.client.delete(scene.keys.wake)

    scene.queue.release(held)

    assert scene.wakes() == 1


def test_the_next_claim_of_a_released_job_goes_on_counting_tokens(scene: Scene) -> None:
    held = scene.held()
    scene.queue.release(held)

    again = scene.claim()

    assert (again.token, again.excused, again.attempt) == (2, 1, 1)


def test_each_release_excuses_one_more_claim(scene: Scene) -> None:
    job_id = scene.enqueue()

    for _ in range(4):
        scene.queue.release(scene.claim())

    assert scene.fields(job_id, "attempts", "excused", "settled") == ["4", "4", "4 release "]


def test_a_resent_release_is_heard_as_done(scene: Scene) -> None:
    held = scene.held(label="w1")
    scene.queue.release(held)
    before = scene.snapshot()

    scene.queue.release(held)

    assert scene.snapshot() == before


def test_a_job_of_a_lane_goes_back_to_its_lane(scene: Scene) -> None:
    held = held_in_lane(scene)
    assert books(scene) == Books((), 1, False)

    scene.run(calls.release(scene.keys, held.job_id, held.token))

    assert books(scene) == Books((held.job_id,), 0, True)
    assert scene.members("pending") == []
    assert scene.client.smembers(scene.key("groups")) == {GROUP.encode()}
