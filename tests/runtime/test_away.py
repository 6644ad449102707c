"""A worker and a pump whose server does not answer, or has become another one."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from echomq_app.protocol.errors import FenceMismatch
from echomq_app.protocol.keyspace import VERSION
from echomq_app.protocol.states import State
from echomq_app.runtime.events import Event
from echomq_app.runtime.pump import Pump
from tests.eventually import eventually
from tests.runtime.scene import PATIENCE_S, Clock, Scene, Tale
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server

SceneOf = Callable[..., Scene]


def test_a_server_that_is_away_is_told_once_and_its_return_once(
    scene: Scene, proxy: CuttingProxy
) -> None:
    scene.worker.tick()
    away = proxy.cut_before_request(times=100_000)
    for _ in range(10):
        scene.clock.pass_(1.1)
        assert scene.worker.tick() == pytest.approx(1.0)
    (job,) = scene.enqueue()

    away.left = 0
    scene.clock.pass_(1.1)
    scene.worker.tick()
    scene.worker.tick()

    assert scene.ran == [job]
    assert scene.tale.events().count(Event.SERVER_AWAY) == 1
    (back,) = scene.tale.of(Event.SERVER_BACK)
    assert back["seconds"] == pytest.approx(11.0)


def test_an_absence_is_told_again_after_1_5_and_30_minutes_and_then_each_hour(
    scene: Scene, proxy: CuttingProxy
) -> None:
    proxy.cut_before_request(times=100_000)
    seconds = [0, 30, 59, 60, 299, 300, 900, 1799, 1800, 3599, 3600, 7199, 7200, 10_800]
    told = []
    for before, second in itertools.pairwise([0, *seconds]):
        scene.clock.pass_(second - before)
        scene.worker.tick()
        told.append(len(scene.tale.of(Event.SERVER_STILL_AWAY)))

    assert told == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6]
    assert scene.tale.of(Event.SERVER_STILL_AWAY)[-1]["seconds"] == 10_800


def test_an_absence_that_nobody_saw_pass_is_told_once(scene: Scene, proxy: CuttingProxy) -> None:
    away = proxy.cut_before_request(times=100_000)
    scene.worker.tick()
    for _ in range(3):
        scene.clock.pass_(10 * 3600 if not scene.tale.of(Event.SERVER_STILL_AWAY) else 2)
        scene.worker.tick()
    assert len(scene.tale.of(Event.SERVER_STILL_AWAY)) == 1
    away.left = 0
    scene.clock.pass_(2)
    scene.worker.tick()
    proxy.cut_before_request(times=100_000)

    for _ in range(3):
        scene.clock.pass_(19)
        scene.worker.tick()

    assert len(scene.tale.of(Event.SERVER_AWAY)) == 2
    assert len(scene.tale.of(Event.SERVER_STILL_AWAY)) == 1


def test_many_queues_of_a_server_that_is_away_cost_one_wait(
    scene_of: SceneOf, proxy: CuttingProxy
) -> None:
    scene = scene_of(*(f"q{number}" for number in range(20)))
    proxy.cut_before_request(times=100_000)

    began = time.monotonic()
    scene.worker.tick()

    assert time.monotonic() - began < 10 * PATIENCE_S
    assert scene.tale.events().count(Event.SERVER_AWAY) == 1


def test_a_worker_does_not_ask_a_server_that_is_away_at_every_bell(
    scene: Scene, proxy: CuttingProxy
) -> None:
    scene.enqueue(3)
    scene.worker.tick()
    proxy.cut_before_request(times=100_000)
    scene.clock.pass_(1)
    scene.worker.tick()
    asked = len(proxy.commands)

    for held in list(scene.bench.running):
        scene.bench.end(held)
        scene.worker.tick()

    assert len(proxy.commands) == asked
    assert scene.worker.tick() == pytest.approx(1.0)


def test_outcomes_of_the_time_without_a_server_are_settled_when_it_is_back(
    scene: Scene, proxy: CuttingProxy
) -> None:
    scene.enqueue(3)
    scene.worker.tick()
    away = proxy.cut_before_request(times=100_000)
    scene.clock.pass_(1)
    scene.worker.tick()
    scene.bench.end_all()
    scene.worker.tick()

    away.left = 0
    scene.clock.pass_(1.1)
    scene.worker.tick()

    assert scene.queue.facts().counts.completed == 3
    assert scene.tale.events().count(Event.COMPLETED) == 3


def test_a_claim_whose_answer_is_lost_is_not_sent_again_and_is_told(
    scene: Scene, proxy: CuttingProxy
) -> None:
    (job,) = scene.enqueue()
    lost = proxy.cut_before_reply()
    scene.wire.bus.fenced = True

    scene.worker.tick()

    assert lost.fired == 1
    assert scene.ran == []
    assert scene.queue.state(job) is State.ACTIVE
    assert scene.tale.events().count(Event.CLAIM_LOST) == 1


def test_one_dead_node_of_a_cluster_does_not_hold_up_the_queues_of_the_others(
    cluster: Cluster,
) -> None:
    clients = cluster.client(), cluster.client(socket_timeout=0.2, socket_connect_timeout=0.2)
    by_node = {cluster.owner(cluster.slot("emq:{" + n + "}:x")).port: n for n in "abcdefghij"}
    names = list(by_node.values())[:2]
    scene = Scene(*clients, *names)
    dead, alive = scene.queues
    fence_node = cluster.owner(cluster.slot(VERSION))
    node = cluster.owner(cluster.slot(dead.keys.wake))
    if node is fence_node:
        dead, alive = alive, dead
        node = cluster.owner(cluster.slot(dead.keys.wake))
    scene.worker.tick()
    node.freeze()
    try:
        for _ in range(3):
            jobs = scene.enqueue(1, alive)
            scene.clock.pass_(1.1)
            scene.worker.tick({alive.keys.wake})
            scene.worker.tick()
            assert scene.ran == jobs
            scene.bench.end_all()
        assert scene.tale.events().count(Event.SERVER_AWAY) == 1
        assert Event.SERVER_BACK not in scene.tale.events()
    finally:
        node.thaw()
        eventually(cluster.is_whole, within=30)


def test_a_server_fenced_for_another_format_ends_the_worker(
    scene: Scene, proxy: CuttingProxy
) -> None:
    scene.worker.tick()
    scene.client.set(VERSION, "echomq:9.9.9")
    proxy.drop_connections()
    scene.clock.pass_(1)

    with pytest.raises(FenceMismatch, match=r"echomq:9\.9\.9.*we accept echomq:4\.0\.0"):
        scene.worker.tick()


def test_a_worker_reaps_a_beat_after_the_servers_return(scene: Scene, proxy: CuttingProxy) -> None:
    scene.worker.tick()
    (job,) = scene.enqueue()
    scene.queue.claim_many(timedelta(minutes=1), 1, "another worker")
    away = proxy.cut_before_request(times=100_000)
    scene.clock.pass_(1)
    scene.worker.tick()
    scene.lapse(job)
    away.left = 0

    scene.clock.pass_(1.1)
    assert scene.worker.tick() == pytest.approx(1.0)
    ran_at_once = list(scene.ran)
    scene.clock.pass_(1)
    scene.worker.tick()

    assert ran_at_once == []
    assert scene.ran == [job]


def pump_of(scene: Scene, **options: Any) -> tuple[Pump, Clock, Tale]:
    clock, tale = Clock(), Tale()
    queues = scene.worker.queues
    return Pump(scene.wire, queues, report=tale, now=clock, **options), clock, tale


def test_a_pump_gives_back_and_promotes_all_queues_in_one_round_trip(
    scene_of: SceneOf, proxy: CuttingProxy
) -> None:
    scene = scene_of("a", "b")
    for queue in scene.queues:
        scene.enqueue(2, queue)
        first, second = queue.claim_many(timedelta(minutes=1), 2, "w")
        scene.lapse(first.job_id, queue)
        queue.delay(second, timedelta())
    pump, _, tale = pump_of(scene)
    scene.wire.bus.fenced = True
    pump.tick()
    proxy.reset()

    pump.tick()

    assert proxy.round_trips == 1
    assert [queue.pending_size() for queue in scene.queues] == [2, 2]
    swept = tale.of(Event.SWEPT)
    assert [(facts["queue"], facts["reaped"], facts["promoted"]) for facts in swept] == [
        ("a", 1, 1),
        ("b", 1, 1),
    ]


def test_a_pump_goes_on_without_a_wait_while_there_is_more(scene: Scene) -> None:
    scene.enqueue(5)
    for held in scene.queue.claim_many(timedelta(minutes=1), 5, "w"):
        scene.lapse(held.job_id)
    pump, _, _ = pump_of(scene, batch=2)

    assert [pump.tick(), pump.tick()] == [0.0, 0.0]
    assert pump.tick() == 1.0
    assert scene.queue.pending_size() == 5


def test_a_pump_looks_when_something_falls_due_and_at_the_latest_on_its_beat(
    scene: Scene,
) -> None:
    scene.enqueue(2)
    soon, late = scene.queue.claim_many(timedelta(minutes=1), 2, "w")
    pump, _, _ = pump_of(scene)
    scene.queue.delay(late, timedelta(hours=1))
    assert pump.tick() == 1.0

    scene.queue.delay(soon, timedelta(milliseconds=300))
    pause = pump.tick()
    assert pause is not None
    assert 0.1 < pause <= 0.3


def test_a_pump_tells_once_that_its_server_is_away_and_reaps_a_beat_after_its_return(
    scene: Scene, proxy: CuttingProxy
) -> None:
    (job,) = scene.enqueue()
    scene.queue.claim_many(timedelta(minutes=1), 1, "w")
    scene.lapse(job)
    pump, clock, tale = pump_of(scene)
    away = proxy.cut_before_request(times=100_000)
    for _ in range(3):
        assert pump.tick() == 1.0
        clock.pass_(1)
    away.left = 0

    assert pump.tick() == 1.0
    assert scene.queue.state(job) is State.ACTIVE
    pump.tick()

    assert scene.queue.state(job) is State.PENDING
    assert tale.events() == [Event.SERVER_AWAY, Event.SERVER_BACK, Event.SWEPT]


def test_a_pump_sweeps_on_beside_a_queue_that_is_broken(scene_of: SceneOf) -> None:
    scene = scene_of("spoilt", "sound")
    spoilt, sound = scene.queues
    scene.client.set(spoilt.keys.active, "x")
    (job,) = scene.enqueue(1, sound)
    sound.claim_many(timedelta(minutes=1), 1, "w")
    scene.lapse(job, sound)
    pump, _, tale = pump_of(scene)

    pump.tick()
    pump.tick()

    assert sound.state(job) is State.PENDING
    assert len(tale.of(Event.QUEUE_BROKEN)) == 1


def test_a_pump_of_another_fence_ends(scene: Scene) -> None:
    scene.client.set(VERSION, "echomq:9.9.9")
    pump, _, _ = pump_of(scene)

    with pytest.raises(FenceMismatch):
        pump.tick()


def test_a_stopped_pump_leaves(scene: Scene) -> None:
    pump, _, _ = pump_of(scene)
    pump.stop()

    assert pump.tick() is None


def test_a_frozen_server_is_a_server_that_is_away(fresh_server: Server) -> None:
    scene = Scene(fresh_server.client(), fresh_server.client(socket_timeout=0.2))
    scene.worker.tick()
    fresh_server.freeze()
    scene.clock.pass_(1)
    scene.worker.tick()
    fresh_server.thaw()
    scene.enqueue()

    scene.clock.pass_(2)
    scene.worker.tick()

    assert scene.tale.events().count(Event.SERVER_AWAY) == 1
    assert scene.tale.events().count(Event.SERVER_BACK) == 1
