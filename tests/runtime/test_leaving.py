"""When a worker leaves, and what becomes of what it holds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from echomq_app.protocol.states import State
from echomq_app.runtime.events import Event
from tests.runtime.scene import MINTER, Scene, failed, new_payload
from tests.servers.proxy import CuttingProxy

SceneOf = Callable[..., Scene]


def test_a_burst_leaves_at_once_when_there_is_nothing(scene_of: SceneOf) -> None:
    scene = scene_of(burst=True)

    assert scene.worker.tick() is None


def test_a_burst_runs_what_waits_and_leaves_in_the_tick_that_settles_the_last(
    scene_of: SceneOf,
) -> None:
    scene = scene_of(burst=True, concurrency=2)
    scene.enqueue(3)

    assert scene.worker.tick() is not None
    scene.bench.end_all()
    assert scene.worker.tick() is not None
    scene.bench.end_all()

    assert scene.worker.tick() is None
    assert scene.queue.facts().counts.completed == 3


def test_a_burst_waits_for_what_runs(scene_of: SceneOf) -> None:
    scene = scene_of(burst=True)
    scene.enqueue()

    for _ in range(5):
        assert scene.worker.tick() is not None
        scene.clock.pass_(1)


def test_a_burst_runs_what_is_due_however_much_and_leaves_what_is_not(scene_of: SceneOf) -> None:
    scene = scene_of(burst=True, sweep_batch=2, concurrency=10)
    for job_id in MINTER.mint_many(5):
        scene.queue.schedule_in(job_id, new_payload(), timedelta())
    (later,) = MINTER.mint_many(1)
    scene.queue.schedule_in(later, new_payload(), timedelta(hours=1))

    ticks = 0
    while scene.worker.tick() is not None:
        scene.bench.end_all()
        ticks += 1
        assert ticks < 20

    counts = scene.queue.facts().counts
    assert (counts.completed, counts.schedule, counts.pending) == (5, 1, 0)


def test_a_burst_runs_a_retry_that_is_due_at_once(scene_of: SceneOf) -> None:
    scene = scene_of(burst=True)
    scene.enqueue()
    scene.worker.tick()
    scene.bench.end(scene.bench.running[0], failed())

    ticks = 0
    while not scene.bench.running:
        assert scene.worker.tick() is not None
        ticks += 1
        assert ticks < 5
    scene.bench.end_all()

    assert scene.worker.tick() is None
    assert scene.queue.facts().counts.completed == 1


def test_a_burst_gives_back_what_a_dead_worker_held_and_runs_it(scene_of: SceneOf) -> None:
    scene = scene_of(burst=True)
    (job,) = scene.enqueue()
    scene.queue.claim_many(timedelta(minutes=1), 1, "dead")
    scene.lapse(job)

    scene.worker.tick()

    assert scene.ran == [job]


def test_a_burst_does_not_leave_because_the_server_is_away(
    scene_of: SceneOf, proxy: CuttingProxy
) -> None:
    scene = scene_of(burst=True)
    (job,) = scene.enqueue()
    away = proxy.cut_before_request(times=1000)

    assert scene.worker.tick() is not None
    scene.clock.pass_(1.1)
    away.left = 0
    scene.worker.tick()

    assert scene.ran == [job]


def test_a_burst_leaves_a_paused_queue_as_it_is(scene_of: SceneOf) -> None:
    scene = scene_of(burst=True)
    scene.enqueue()
    scene.queue.pause()

    assert scene.worker.tick() is None
    assert scene.queue.pending_size() == 1


def test_a_stopped_worker_without_jobs_leaves_at_once(scene: Scene) -> None:
    scene.worker.tick()
    scene.worker.stop()

    assert scene.worker.tick() is None


def test_a_stopped_worker_claims_nothing_more_and_leaves_when_its_last_job_is_settled(
    scene_of: SceneOf,
) -> None:
    scene = scene_of(concurrency=2)
    scene.enqueue(4)
    scene.worker.tick()
    first, second = scene.bench.running

    scene.worker.stop()
    scene.bench.end(first)
    assert scene.worker.tick({scene.keys.wake}) is not None
    assert scene.bench.running == [second]
    scene.bench.end(second)

    assert scene.worker.tick() is None
    counts = scene.queue.facts().counts
    assert (counts.completed, counts.pending, counts.active) == (2, 2, 0)
    assert len(scene.tale.of(Event.DRAINING)) == 1
    assert scene.tale.of(Event.DRAINING)[0] == {"running": 2, "seconds": 30.0}


def test_a_draining_worker_goes_on_renewing(scene_of: SceneOf) -> None:
    scene = scene_of(drain=timedelta(minutes=5))
    (job,) = scene.enqueue()
    scene.worker.tick()
    scene.worker.stop()
    scene.lapse(job)

    scene.clock.pass_(20)
    scene.worker.tick()

    assert scene.queue.reap() == 0


def test_after_its_drain_time_a_worker_gives_back_what_runs_and_the_claim_does_not_count(
    scene_of: SceneOf,
) -> None:
    scene = scene_of(drain=timedelta(seconds=10))
    slow, quick = scene.enqueue(2)
    scene.worker.tick()
    held = {one.lease.job_id: one for one in scene.bench.running}
    scene.worker.stop()
    scene.clock.pass_(9.9)
    assert scene.worker.tick() == pytest.approx(0.1)

    scene.bench.end(held[quick])
    scene.clock.pass_(0.1)
    assert scene.worker.tick() is None

    assert scene.states([slow, quick]) == ["pending", "absent"]
    assert scene.client.hmget(scene.keys.row(slow), "attempts", "excused") == [b"1", b"1"]
    assert held[slow].lost.is_set()
    assert [facts["job"] for facts in scene.tale.of(Event.RELEASED)] == [slow]
    assert scene.client.llen(scene.keys.wake) >= 1


def test_ten_drains_use_up_none_of_a_jobs_attempts(scene_of: SceneOf) -> None:
    scene = scene_of()
    (job,) = scene.enqueue()
    for _ in range(10):
        worker = scene.new_worker(drain=timedelta())
        worker.tick()
        worker.stop()
        assert worker.tick() is None
        scene.bench.running.clear()

    scene.worker.tick()
    (held,) = scene.bench.running
    assert held.lease.attempt == 1
    scene.bench.end(held, failed(timedelta(hours=1), most=3))
    scene.worker.tick()

    assert scene.queue.state(job) is State.SCHEDULED


def test_a_lost_lease_is_not_given_back(scene: Scene) -> None:
    (job,) = scene.enqueue()
    scene.worker.tick()
    scene.lapse(job)
    scene.queue.reap()
    (thief,) = scene.queue.claim_many(timedelta(minutes=1), 1, "thief")
    scene.clock.pass_(20)
    scene.tick()

    scene.worker.stop()
    scene.clock.pass_(30)
    assert scene.worker.tick() is None

    assert scene.queue.state(job) is State.ACTIVE
    assert not {Event.RELEASED, Event.SETTLE_REFUSED} & set(scene.tale.events())
    scene.queue.complete(thief)


def test_a_worker_that_leaves_without_a_server_says_what_comes_back_by_its_lease(
    scene: Scene, proxy: CuttingProxy
) -> None:
    jobs = scene.enqueue(2)
    scene.worker.tick()
    proxy.cut_before_request(times=100_000)
    scene.bench.end(scene.bench.running[0])
    scene.worker.stop()
    scene.worker.tick()
    scene.clock.pass_(30)

    assert scene.worker.tick() is None

    told = scene.tale.of(Event.OUTCOME_DROPPED)
    assert sorted(str(facts["job"]) for facts in told) == sorted(jobs)
    assert all("comes back by its lease" in str(facts["error"]) for facts in told)
