from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls, replies
from echomq_app.protocol.errors import Locked
from echomq_app.protocol.states import State
from tests.protocol.lanes import GROUP, Books, books, held_in_lane, laned
from tests.protocol.scene import Scene, new_id

MINUTE = timedelta(minutes=1)


def scheduled(scene: Scene) -> str:
    job_id = new_id()
    scene.queue.schedule_in(job_id, b"w", MINUTE)
    return job_id


def waiting_in(scene: Scene, place: str) -> str:
    if place == "lane":
        return laned(scene)
    if place == "dead":
        return scene.dead()
    return scheduled(scene) if place == "schedule" else scene.enqueue()


@pytest.mark.parametrize("place", ["pending", "schedule", "dead", "lane"])
def test_a_job_is_removed_wherever_it_waits(scene: Scene, place: str) -> None:
    job_id = waiting_in(scene, place)
    scene.queue.add_log(job_id, "a line")
    scene.client.lpush(scene.keys.errors(job_id), "{}")

    assert scene.queue.remove(job_id) is True

    assert scene.queue.state(job_id) is State.ABSENT
    assert [key for key in scene.snapshot() if job_id in key] == []
    assert scene.places(job_id) == []


def test_a_held_job_is_refused_untouched(scene: Scene) -> None:
    held = scene.held()
    before = scene.snapshot()

    with pytest.raises(Locked, match="EMQLOCK somebody holds the job"):
        scene.queue.remove(held.job_id)

    assert scene.snapshot() == before


@pytest.mark.parametrize("marker", ["key", "field"])
def test_a_foreign_lock_is_respected(scene: Scene, marker: str) -> None:
    job_id = scene.enqueue()
    if marker == "key":
        scene.client.set(scene.keys.row(job_id) + ":lock", "1", px=60_000)
    else:
        scene.client.hset(scene.keys.row(job_id), "lock", "1")
    before = scene.snapshot()

    with pytest.raises(Locked):
        scene.queue.remove(job_id)
    assert scene.snapshot() == before

    assert scene.queue.remove(job_id, force=True) is True


def test_by_force_a_held_job_goes_and_its_holder_hears_it(scene: Scene) -> None:
    held = scene.held()

    assert scene.queue.remove(held.job_id, force=True) is True

    assert scene.members("active") == []
    assert scene.queue.extend([held], MINUTE) == [held.job_id]


def test_what_is_gone_answers_so_and_leaves_nothing(scene: Scene) -> None:
    assert scene.queue.remove(new_id()) is False
    assert scene.snapshot() == {}


def test_a_ghost_is_cleared_from_its_set(scene: Scene) -> None:
    ghost = new_id()
    scene.client.zadd(scene.keys.dead, {ghost: 0})

    assert scene.queue.remove(ghost) is False

    assert scene.snapshot() == {}


def test_a_row_that_is_no_hash_can_be_removed(scene: Scene) -> None:
    bad = new_id()
    scene.client.set(scene.keys.row(bad), "x")
    scene.client.zadd(scene.keys.dead, {bad: 0})

    assert scene.queue.remove(bad) is True

    assert scene.snapshot() == {}


def test_a_receipt_names_the_payload_and_who_removed_it(scene: Scene) -> None:
    job_id = scene.enqueue(b'{"meta": {"nonce": "n1"}}')

    scene.queue.remove(job_id, label="ada", receipt_for=MINUTE)

    receipt = replies.receipt(scene.client.get(scene.keys.result(job_id)))
    assert receipt is not None
    assert (receipt.mark, receipt.token, receipt.label) == ("n1", 0, "ada")
    assert scene.members("expire") == [job_id]


def test_without_a_receipt_asked_for_none_is_left(scene: Scene) -> None:
    job_id = scene.enqueue()
    scene.client.delete(scene.keys.wake)

    scene.queue.remove(job_id)

    assert scene.snapshot() == {}


def test_a_waiting_job_leaves_its_lane_and_an_empty_lane_the_ring(scene: Scene) -> None:
    first, second = laned(scene), laned(scene)

    scene.queue.remove(first)
    assert books(scene) == Books((second,), 0, True)

    scene.queue.remove(second)
    assert books(scene) == Books((), 0, False)


def test_a_held_job_of_a_lane_gives_up_its_slot(scene: Scene) -> None:
    held = held_in_lane(scene)
    waiting = laned(scene)

    scene.queue.remove(held.job_id, force=True)

    assert books(scene) == Books((waiting,), 0, True)
    assert scene.client.hget(scene.key("gactive"), GROUP) is None


@pytest.mark.parametrize("points_here", [True, False])
def test_a_deduplication_key_is_released_only_if_it_points_at_the_job(
    scene: Scene, points_here: bool
) -> None:
    job_id = scene.enqueue()
    scene.client.set(scene.key("de:once"), job_id if points_here else new_id())

    scene.run(calls.remove(scene.keys, job_id, did="once"))

    assert bool(scene.client.exists(scene.key("de:once"))) is not points_here
