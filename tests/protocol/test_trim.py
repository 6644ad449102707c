from __future__ import annotations

from dataclasses import replace

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Retention
from tests.protocol.scene import LONG, Scene

KEEP = Retention(mark="m", receipt_ms=60_000, outcome=b"{}", result_ms=600_000, limit=1000)
FAMILY = ("done", "outcomes", "expire")


def ended(scene: Scene, keep: Retention = KEEP) -> str:
    """A job that ended and left something."""
    held = scene.held()
    scene.queue.complete(held, keep)
    return held.job_id


def test_what_is_over_is_forgotten_everywhere_and_the_rest_stays(scene: Scene) -> None:
    over, kept = ended(scene), ended(scene)
    scene.client.zadd(scene.keys.expire, {over: 1})

    assert scene.queue.trim() == 1

    assert all(scene.members(kind) == [kept] for kind in FAMILY)
    assert not scene.client.exists(scene.keys.result(over))
    assert scene.client.exists(scene.keys.result(kept))


def test_a_receipt_is_forgotten_like_an_outcome(scene: Scene) -> None:
    over = ended(scene, Retention(mark="m", receipt_ms=60_000))
    scene.client.zadd(scene.keys.expire, {over: 1})

    assert scene.queue.trim() == 1

    assert scene.members("expire") == []
    assert not scene.client.exists(scene.keys.result(over))


def test_a_call_forgets_no_more_than_its_limit(scene: Scene) -> None:
    for _ in range(5):
        scene.client.zadd(scene.keys.expire, {ended(scene): 1})

    assert scene.run(calls.trim(scene.keys, 3)) == 3
    assert scene.run(calls.trim(scene.keys, 3)) == 2


def test_a_next_life_that_is_running_is_not_touched(scene: Scene) -> None:
    over = ended(scene)
    scene.client.delete(scene.keys.result(over))
    scene.client.zadd(scene.keys.expire, {over: 1})
    scene.enqueue(job_id=over)
    held = scene.claim()

    scene.queue.trim()

    assert scene.places(over) == ["active"]
    assert scene.row(over)["state"] == "active"
    scene.queue.complete(held, KEEP)
    assert scene.members("done") == [over]


def test_a_thousand_mixed_lifetimes_stay_within_bounds_and_list_what_is_there(
    scene: Scene,
) -> None:
    for _ in range(10):
        scene.queue.enqueue_many([(scene.queue._mint().mint(), b"w") for _ in range(100)])
        for number, held in enumerate(scene.queue.claim_many(LONG, 100)):
            lives = 3_600_000 if number % 2 else 60_000 + number
            scene.queue.complete(held, replace(KEEP, result_ms=lives, limit=50))
        for job_id in scene.members("done")[::3]:
            scene.client.zadd(scene.keys.expire, {job_id: 1})
        scene.queue.trim()

    done = scene.members("done")
    assert 0 < len(done) <= 50
    assert sorted(scene.members("outcomes")) == done
    assert all(b"\n" in scene.client.get(scene.keys.result(job_id)) for job_id in done)
    kept = {key.split(b":")[-1].decode() for key in scene.client.keys(scene.key("result:*"))}
    assert kept == set(scene.members("expire"))
