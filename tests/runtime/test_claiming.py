"""Which jobs a worker takes, of which queue, and what it does with those it cannot run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from echomq_app.protocol.states import State
from echomq_app.runtime.events import Event
from tests.runtime.scene import MINTER, Scene, failed, new_payload
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.wire.links import runs

SceneOf = Callable[..., Scene]


def test_a_tick_claims_up_to_the_free_slots_in_one_call(
    scene_of: SceneOf, proxy: CuttingProxy
) -> None:
    scene = scene_of(concurrency=3)
    jobs = scene.enqueue(5)

    scene.worker.tick()

    assert scene.ran == jobs[:3]
    assert sum(runs("beat")(words) for words in proxy.commands) == 1
    assert not any(runs("claim_many")(words) for words in proxy.commands)


def test_a_full_worker_claims_nothing_until_a_slot_is_free(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=2)
    jobs = scene.enqueue(4)
    scene.worker.tick()

    scene.clock.pass_(5)
    scene.worker.tick()
    assert scene.ran == jobs[:2]

    scene.bench.end(scene.bench.running[0])
    scene.worker.tick()
    assert scene.ran == jobs[1:3]


def test_a_claim_that_came_up_full_is_followed_by_another_without_a_wait(
    scene_of: SceneOf,
) -> None:
    scene = scene_of(concurrency=2)
    scene.enqueue(4)
    scene.worker.tick()
    scene.bench.end_all()

    scene.worker.tick()

    assert len(scene.ran) == 2
    assert scene.worker.tick() is not None


def test_a_token_makes_the_worker_look_before_its_beat(scene: Scene) -> None:
    scene.worker.tick()
    (job,) = scene.enqueue()
    scene.worker.tick()
    seen_without = list(scene.ran)

    scene.worker.tick({scene.keys.wake})

    assert seen_without == []
    assert scene.ran == [job]


def test_without_a_token_the_worker_looks_on_its_beat(scene: Scene) -> None:
    pause = scene.worker.tick()
    (job,) = scene.enqueue()
    assert pause == pytest.approx(1.0)

    scene.clock.pass_(1.0)
    scene.worker.tick()

    assert scene.ran == [job]


def test_no_queue_starves_another_whatever_wakes_the_worker(scene_of: SceneOf) -> None:
    scene = scene_of("busy", "quiet", concurrency=1)
    busy, quiet = scene.queues
    scene.enqueue(20, busy)
    scene.enqueue(20, quiet)
    served = []

    for _ in range(20):
        scene.worker.tick()
        scene.worker.tick()
        scene.clock.pass_(1)
        (held,) = scene.bench.end_all()
        served.append(held.lease.queue)

    assert served.count("busy") == served.count("quiet") == 10


def test_a_queue_that_is_always_full_leaves_slots_to_one_with_a_single_job(
    scene_of: SceneOf,
) -> None:
    scene = scene_of("busy", "quiet", concurrency=4)
    busy, quiet = scene.queues
    scene.enqueue(40, busy)
    scene.worker.tick()
    (job,) = scene.enqueue(1, quiet)

    scene.bench.end(scene.bench.running[0])
    scene.worker.tick({quiet.keys.wake})

    assert job in scene.ran


def test_a_paused_queue_gives_nothing_and_goes_on_at_the_token_of_its_resume(
    scene: Scene,
) -> None:
    scene.queue.pause()
    (job,) = scene.enqueue()
    scene.worker.tick()
    assert scene.ran == []

    scene.client.delete(scene.keys.wake)
    scene.queue.resume()
    assert scene.client.llen(scene.keys.wake) == 1
    scene.worker.tick({scene.keys.wake})

    assert scene.ran == [job]


def test_a_job_is_run_when_it_falls_due_and_not_a_beat_later(scene: Scene) -> None:
    (job_id,) = MINTER.mint_many(1)
    scene.queue.schedule_in(job_id, new_payload(), timedelta(milliseconds=400))

    pause = scene.worker.tick()

    assert pause is not None
    assert 0.2 < pause <= 0.4


def test_a_retry_that_is_due_within_the_beat_is_looked_for_then(scene: Scene) -> None:
    scene.enqueue()
    scene.worker.tick()
    scene.bench.end(scene.bench.running[0], failed(timedelta(milliseconds=50)))

    pause = scene.worker.tick()

    assert pause == pytest.approx(0.05, abs=0.01)


def test_a_job_whose_workers_died_too_often_is_buried_and_not_run(scene_of: SceneOf) -> None:
    scene = scene_of(max_lapses=3, concurrency=1)
    poison, good = scene.enqueue(2)
    scene.client.hset(scene.queue.keys.row(poison), "lapses", "3")

    scene.worker.tick()
    scene.worker.tick()

    assert scene.ran == [good]
    assert scene.queue.state(poison) is State.DEAD
    (told,) = scene.tale.of(Event.BURIED)
    assert told["job"] == poison
    assert told["error"] == "its worker died 3 times: the job was not started again"
    assert scene.client.hget(scene.keys.row(poison), "last_error") == str(told["error"]).encode()


def test_a_job_that_lapsed_fewer_times_than_the_limit_runs(scene_of: SceneOf) -> None:
    scene = scene_of(max_lapses=3)
    (job,) = scene.enqueue()
    scene.client.hset(scene.keys.row(job), "lapses", "2")

    scene.worker.tick()

    assert scene.ran == [job]


def test_a_slotful_of_poison_hides_no_job_behind_it(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=2)
    *poisons, good = scene.enqueue(7)
    for poison in poisons:
        scene.client.hset(scene.keys.row(poison), "lapses", "3")

    ticks = 0
    while good not in scene.ran:
        assert scene.worker.tick() is not None
        ticks += 1
        assert ticks < 10

    scene.worker.tick()
    assert scene.states(poisons) == ["dead"] * 6


@pytest.mark.parametrize("spoil", ["not a hash", "no payload", "attempts in words"])
def test_a_broken_row_at_the_head_is_set_aside_and_the_rest_runs(scene: Scene, spoil: str) -> None:
    broken, good = scene.enqueue(2)
    row = scene.keys.row(broken)
    if spoil == "not a hash":
        scene.client.set(row, "x")
    elif spoil == "no payload":
        scene.client.hdel(row, "payload")
    else:
        scene.client.hset(row, "attempts", "many")

    scene.worker.tick()
    scene.worker.tick()

    assert scene.ran == [good]
    assert scene.client.zscore(scene.keys.dead, broken) == 0.0


def test_an_id_that_is_none_takes_no_slot(scene: Scene) -> None:
    scene.client.hset(f"{scene.keys.base}job:0", mapping={"attempts": 0, "payload": new_payload()})
    scene.client.zadd(scene.keys.pending, {"0": 0})
    (good,) = scene.enqueue()

    scene.worker.tick()

    assert scene.ran == [good]
    assert scene.client.zscore(scene.keys.dead, "0") == 0.0


@pytest.mark.parametrize("which", ["pending", "active", "schedule"])
def test_a_queue_with_a_wrong_typed_key_is_told_once_and_the_others_are_served(
    scene_of: SceneOf, which: str
) -> None:
    scene = scene_of("spoilt", "sound")
    spoilt, sound = scene.queues
    scene.client.set(getattr(spoilt.keys, which), "x")
    jobs = scene.enqueue(3, sound)

    for _ in range(4):
        scene.worker.tick()
        scene.clock.pass_(1)

    assert scene.ran == jobs
    (told,) = scene.tale.of(Event.QUEUE_BROKEN)
    assert told["queue"] == "spoilt"
    assert "WRONGTYPE" in str(told["error"])


def test_a_mended_queue_is_served_and_told_again_should_it_break_again(scene: Scene) -> None:
    for _ in range(2):
        scene.client.set(scene.keys.active, "x")
        scene.clock.pass_(1)
        scene.worker.tick()
        scene.client.delete(scene.keys.active)
        scene.clock.pass_(1)
        scene.worker.tick()

    assert len(scene.tale.of(Event.QUEUE_BROKEN)) == 2


def test_one_worker_serves_queues_of_every_node_of_a_cluster(cluster: Cluster) -> None:
    names = _names_on_each_node(cluster)
    scene = Scene(cluster.client(), cluster.client(), *names, patience_s=2.0, concurrency=9)
    jobs = {queue.name: scene.enqueue(2, queue) for queue in scene.queues}

    scene.worker.tick()
    assert sorted(scene.ran) == sorted(job for ids in jobs.values() for job in ids)

    scene.bench.end_all()
    scene.worker.tick()
    for queue in scene.queues:
        assert queue.facts().counts.completed == 2


def _names_on_each_node(cluster: Cluster) -> list[str]:
    found: dict[int, str] = {}
    for number in range(100):
        name = f"q{number}"
        found.setdefault(cluster.owner(cluster.slot("emq:{" + name + "}:wake")).port, name)
        if len(found) == 3:
            return list(found.values())
    raise AssertionError("a hundred names and not one on each node")
