from __future__ import annotations

from datetime import timedelta

from echomq_app.protocol.calls import Retention
from tests.protocol.lanes import GROUP, held_in_lane, laned
from tests.protocol.scene import Scene, new_id

KEEP = Retention(mark="m", receipt_ms=60_000, outcome=b"{}", result_ms=60_000, limit=9)


def test_an_empty_queue_counts_nothing(scene: Scene) -> None:
    counts = scene.queue.facts().counts

    assert counts[:8] == (0,) * 8
    assert (counts.paused, counts.oldest, counts.next_due_ms, counts.next_lapse_ms) == (
        False,
        None,
        None,
        None,
    )
    assert abs(counts.now_ms - scene.server_ms()) < 5000


def test_each_set_is_counted_and_what_ended(scene: Scene) -> None:
    scene.queue.complete(scene.held(), KEEP)
    scene.queue.complete(scene.held())
    scene.dead()
    held = scene.held()
    at_ms = scene.server_ms() + 60_000
    scene.queue.schedule_in(new_id(), b"w", timedelta(minutes=1))
    oldest = scene.enqueue()
    scene.enqueue()

    counts = scene.queue.facts().counts

    assert counts.pending == scene.queue.pending_size() == 2
    assert (counts.active, counts.schedule, counts.dead, counts.done) == (1, 1, 1, 1)
    assert (counts.completed, counts.failed, counts.laned) == (2, 1, 0)
    assert counts.oldest == oldest
    assert counts.next_lapse_ms == scene.score("active", held.job_id)
    assert counts.next_due_ms is not None
    assert at_ms <= counts.next_due_ms <= at_ms + 5000


def test_any_value_of_the_flag_and_a_meta_that_cannot_be_read_is_paused(scene: Scene) -> None:
    scene.client.hset(scene.keys.meta, "paused", "0")
    assert scene.queue.facts().paused

    scene.client.delete(scene.keys.meta)
    scene.client.set(scene.keys.meta, "x")
    assert scene.queue.facts().paused


def test_what_waits_in_lanes_is_counted_wherever_the_lane_is_known_from(scene: Scene) -> None:
    laned(scene)
    assert scene.queue.facts().counts.laned == 1

    scene.client.delete(scene.key("ring"))
    assert scene.queue.facts().counts.laned == 0

    scene.client.sadd(scene.key("paused"), GROUP)
    assert scene.queue.facts().counts.laned == 1

    scene.client.delete(scene.key("paused"))
    scene.client.sadd(scene.key("groups"), GROUP)
    assert scene.queue.facts().counts.laned == 1

    scene.client.delete(scene.key("groups"))
    scene.client.zadd(scene.key(f"g:{GROUP}:pending"), {new_id(): 0})
    scene.client.hset(scene.key("gactive"), GROUP, 1)
    assert scene.queue.facts().counts.laned == 2


def test_the_age_of_the_oldest_is_told(scene: Scene) -> None:
    held_in_lane(scene)
    assert scene.queue.facts().oldest_age_s is None

    scene.enqueue()
    age = scene.queue.facts().oldest_age_s
    assert age is not None
    assert 0 <= age < 60
