"""Workers and pumps tell parents on other queues, and pay nothing where there is nothing to tell."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from echomq_app.protocol.states import State
from echomq_app.runtime.events import Event
from echomq_app.runtime.pump import Pump
from echomq_app.service.flow_tree import FlowJob
from echomq_app.service.flows import Flows
from tests.runtime.scene import MINTER, Clock, Scene, Tale, new_payload
from tests.servers.proxy import CuttingProxy
from tests.wire.links import runs

SceneOf = Callable[..., Scene]
HOME, FAR = "home", "far"


@pytest.fixture
def scene(scene_of: SceneOf) -> Scene:
    """A worker of the children's queue; their parents are on ``home``."""
    return scene_of(FAR, beat=timedelta(seconds=1))


def add_flow(scene: Scene, children: int = 1, home: str = HOME) -> FlowJob:
    """A parent elsewhere that waits for children on the worker's queue."""
    below = [
        FlowJob(job_id=MINTER.mint(), payload=new_payload(), queue=FAR) for _ in range(children)
    ]
    flow = FlowJob(job_id=MINTER.mint(), payload=new_payload(), queue=home, children=below)
    Flows(scene.queue.wire).add(flow)
    return flow


def left(scene: Scene, flow: FlowJob) -> int:
    return Flows(scene.queue.wire).children(flow.queue, flow.job_id).left


def end_children(scene: Scene) -> None:
    """Somebody else completes every child that waits."""
    while held := scene.queue.claim_many(timedelta(minutes=1), 100, "other"):
        for one in held:
            scene.queue.complete(one)


def pump_of(scene: Scene) -> tuple[Pump, Clock, Tale]:
    clock, tale = Clock(), Tale()
    return Pump(scene.wire, scene.worker.queues, report=tale, now=clock), clock, tale


def test_a_worker_tells_a_parent_elsewhere_on_the_beat_after_the_child_s_end(scene: Scene) -> None:
    flow = add_flow(scene)
    scene.worker.tick()
    scene.bench.end_all()
    scene.worker.tick()
    assert left(scene, flow) == 1

    scene.clock.pass_(1)
    scene.worker.tick()

    assert left(scene, flow) == 0
    assert scene.tale.of(Event.CARRIED) == [{"queue": FAR, "entries": 1, "aside": 0}]


def test_a_worker_that_does_not_sweep_carries_nothing(scene_of: SceneOf) -> None:
    scene = scene_of(FAR, sweep=False)
    flow = add_flow(scene)
    end_children(scene)

    scene.worker.tick()

    assert left(scene, flow) == 1


def test_claimed_jobs_start_before_an_outbox_is_carried(scene: Scene, proxy: CuttingProxy) -> None:
    add_flow(scene)
    end_children(scene)
    (job,) = scene.enqueue()
    started: list[list[str]] = []
    proxy.cut_before_request(lambda words: started.append(scene.ran) or False)  # type: ignore[func-returns-value]  # a spy

    scene.worker.tick()

    assert started[-1] == [job]


def test_a_pump_tells_parents_elsewhere(scene: Scene) -> None:
    flow = add_flow(scene, 3)
    end_children(scene)
    pump, _, tale = pump_of(scene)

    assert pump.tick() == 1.0

    assert left(scene, flow) == 0
    assert tale.of(Event.CARRIED) == [{"queue": FAR, "entries": 3, "aside": 0}]


def test_a_pump_goes_on_without_a_wait_while_there_is_more_to_tell(scene: Scene) -> None:
    flow = add_flow(scene, 150)
    end_children(scene)
    pump, _, _ = pump_of(scene)

    assert [pump.tick(), pump.tick()] == [0.0, 1.0]
    assert left(scene, flow) == 0


def test_a_beat_without_an_outbox_is_one_round_trip_and_one_with_it_four(
    scene: Scene, proxy: CuttingProxy
) -> None:
    pump, _, _ = pump_of(scene)
    pump.tick()
    proxy.reset()
    pump.tick()
    assert proxy.round_trips == 1

    add_flow(scene)
    end_children(scene)
    proxy.reset()
    pump.tick()

    assert proxy.round_trips == 4
    assert sum(runs("flow_sweep")(words) for words in proxy.commands) == 1


def test_a_parent_s_queue_that_cannot_be_told_is_told_of_once_and_left_alone_for_a_while(
    scene: Scene, proxy: CuttingProxy
) -> None:
    flow = add_flow(scene)
    end_children(scene)
    scene.client.set("emq:{home}:dead", "x")
    pump, clock, tale = pump_of(scene)

    for _ in range(12):
        pump.tick()
        clock.pass_(1)

    assert sum(runs("flow_deliver")(words) for words in proxy.commands) == 2
    (told,) = tale.of(Event.QUEUE_BROKEN)
    assert str(told["error"]).startswith("its outbox: a key that flow_deliver needs holds another")
    assert left(scene, flow) == 1
    scene.client.delete("emq:{home}:dead")
    clock.pass_(10)
    pump.tick()
    assert left(scene, flow) == 0


def test_a_parent_s_queue_that_cannot_be_told_keeps_no_job_from_being_served(scene: Scene) -> None:
    add_flow(scene)
    end_children(scene)
    scene.client.set("emq:{home}:dead", "x")
    (job,) = scene.enqueue()

    scene.worker.tick()
    assert scene.ran == [job]
    scene.bench.end_all()
    scene.worker.tick()

    assert scene.queue.state(job) is State.ABSENT
