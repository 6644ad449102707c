"""How leases are renewed, and what happens when one is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from echomq_app.protocol.states import State
from echomq_app.runtime.events import Event
from echomq_app.runtime.held import Loss
from tests.eventually import eventually
from tests.runtime.scene import Clock, Scene
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.servers.traps import Words
from tests.wire.links import runs

SceneOf = Callable[..., Scene]
renewals = runs("extend_many")


def count(proxy: CuttingProxy) -> int:
    return sum(renewals(words) for words in proxy.commands)


def test_all_leases_of_a_queue_are_renewed_in_one_call_every_third_of_a_lease(
    scene_of: SceneOf, proxy: CuttingProxy
) -> None:
    scene = scene_of(concurrency=10)
    scene.enqueue(10)
    scene.tick()

    for _ in range(60):
        scene.clock.pass_(1)
        scene.tick()

    assert count(proxy) == 3
    (renewal, *_) = [words for words in proxy.commands if renewals(words)]
    assert sum(word.startswith(b"JOB") for word in renewal) == 10


def test_each_queue_is_renewed_by_a_call_of_its_own(scene_of: SceneOf, proxy: CuttingProxy) -> None:
    scene = scene_of("a", "b", "idle")
    for queue in scene.queues[:2]:
        scene.enqueue(2, queue)
    scene.tick()

    scene.clock.pass_(20)
    scene.tick()

    assert count(proxy) == 2


def test_the_same_id_on_two_queues_is_two_leases(scene_of: SceneOf, proxy: CuttingProxy) -> None:
    scene = scene_of("a", "b")
    (job,) = scene.enqueue(1, scene.queues[0])
    scene.queues[1].enqueue(job, b'{"task":"other"}')
    scene.tick()

    scene.clock.pass_(20)
    scene.tick()
    assert count(proxy) == 2

    scene.bench.end_all()
    scene.tick()
    assert [queue.facts().counts.completed for queue in scene.queues] == [1, 1]


def test_a_renewal_moves_the_deadline_on_the_server(scene: Scene) -> None:
    (job,) = scene.enqueue()
    scene.tick()
    scene.client.zadd(scene.keys.active, {job: 5_000_000_000_000}, xx=True)

    scene.clock.pass_(20)
    scene.tick()

    deadline = scene.client.zscore(scene.keys.active, job)
    now_ms = scene.queue.facts().counts.now_ms
    assert deadline is not None
    assert 55_000 < deadline - now_ms <= 60_000


def test_a_lost_lease_is_told_once_to_the_log_and_to_the_task_and_is_not_settled(
    scene: Scene,
) -> None:
    lost, kept = scene.enqueue(2)
    scene.tick()
    held = {one.lease.job_id: one for one in scene.bench.running}
    scene.lapse(lost)
    scene.queue.reap()
    (thief,) = scene.queue.claim_many(timedelta(minutes=1), 1, "thief")

    for _ in range(3):
        scene.clock.pass_(20)
        scene.tick()

    (told,) = scene.tale.of(Event.LEASE_LOST)
    assert (told["job"], told["token"]) == (lost, 1)
    assert held[lost].lost.is_set()
    assert not held[kept].lost.is_set()

    scene.bench.end_all()
    scene.tick()
    assert [facts["job"] for facts in scene.tale.of(Event.OUTCOME_DROPPED)] == [lost]
    assert [facts["job"] for facts in scene.tale.of(Event.COMPLETED)] == [kept]
    assert scene.queue.state(lost) is State.ACTIVE
    scene.queue.complete(thief)


def test_the_worker_that_claims_its_own_lost_job_again_knows_the_two_runs_apart(
    scene: Scene,
) -> None:
    (job,) = scene.enqueue()
    scene.tick()
    (first,) = scene.bench.running
    scene.lapse(job)
    scene.queue.reap()
    scene.tick({scene.keys.wake})
    _, second = scene.bench.running

    assert first.lost.is_set()
    assert not second.lost.is_set()
    scene.bench.end_all()
    scene.tick()

    (done,) = scene.tale.of(Event.COMPLETED)
    assert done["token"] == 2
    assert scene.queue.facts().counts.completed == 1
    assert scene.worker.running == 0


def test_a_run_that_lost_its_lease_keeps_its_slot_until_it_ends(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=2)
    (job,) = scene.enqueue()
    scene.tick()
    scene.lapse(job)
    scene.queue.reap()
    scene.tick({scene.keys.wake})
    scene.enqueue()

    scene.tick({scene.keys.wake})

    assert scene.ran == [job, job]
    assert scene.worker.free == 0


def test_a_lease_that_lapsed_but_nobody_took_is_renewed(scene: Scene) -> None:
    (job,) = scene.enqueue()
    scene.tick()
    scene.lapse(job)
    other = scene.queue

    scene.clock.pass_(20)
    scene.tick()

    assert other.reap() == 0
    assert scene.tale.of(Event.LEASE_LOST) == []


def test_a_lease_that_cannot_be_renewed_in_its_time_is_lost_and_not_settled(
    scene: Scene, proxy: CuttingProxy
) -> None:
    (job,) = scene.enqueue()
    scene.tick()
    (held,) = scene.bench.running
    proxy.cut_before_request(times=100_000)

    for _ in range(61):
        assert not held.lost.is_set()
        scene.clock.pass_(1)
        if held.lost.is_set():
            break
        scene.tick()
    scene.clock.pass_(1)
    scene.tick()

    assert held.lost.is_set()
    (told,) = scene.tale.of(Event.LEASE_LOST)
    assert told["job"] == job

    proxy.reset()
    scene.bench.end(held)
    scene.clock.pass_(1)
    scene.tick()
    assert len(scene.tale.of(Event.OUTCOME_DROPPED)) == 1
    assert scene.queue.facts().counts.completed == 0


def test_a_task_is_told_in_time_though_the_worker_waits_for_a_frozen_server(
    fresh_server: Server,
) -> None:
    lease = timedelta(seconds=1)
    client = fresh_server.client(socket_timeout=3.0)
    scene = Scene(fresh_server.client(), client)
    worker = scene.new_worker(now=time.monotonic, lease=lease)
    scene.enqueue()
    worker.tick()
    (held,) = scene.bench.running
    fresh_server.freeze()
    try:
        began = time.monotonic()
        assert held.lost.wait(10)
        assert time.monotonic() - began < 1.5
    finally:
        fresh_server.thaw()


def test_a_loss_that_was_told_is_not_taken_back() -> None:
    clock = Clock()
    loss = Loss(clock.now + 1, clock)
    assert not loss.is_set()

    clock.pass_(1)
    assert loss.is_set()
    loss.until = clock.now + 60

    assert loss.is_set()


def test_waiting_for_a_loss_ends_with_the_time_given_or_with_the_loss() -> None:
    loss = Loss(time.monotonic() + 60)

    assert loss.wait(0.01) is False
    loss.set()
    assert loss.wait(60) is True


@pytest.mark.parametrize("reached", [True, False])
def test_after_a_lost_server_a_worker_renews_before_anything_of_its_own_is_reaped(
    scene: Scene, proxy: CuttingProxy, reached: bool
) -> None:
    (job,) = scene.enqueue()
    scene.tick()
    lost: Callable[[Words], bool] = runs("beat")
    if reached:
        proxy.cut_before_reply(lost)
    else:
        away = proxy.cut_before_request(times=1000)
    scene.clock.pass_(1)
    scene.tick()
    assert scene.tale.of(Event.SERVER_AWAY)
    if not reached:
        away.left = 0
    scene.lapse(job)

    scene.clock.pass_(1.1)
    scene.tick()
    scene.clock.pass_(1)
    scene.tick()

    assert scene.queue.state(job) is State.ACTIVE
    assert scene.tale.of(Event.LEASE_LOST) == []
    assert scene.client.hget(scene.keys.row(job), "lapses") is None
    eventually(lambda: scene.tale.of(Event.SERVER_BACK))
