"""What each verb costs: how often a client sends and then waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import IdCollision
from echomq_app.protocol.states import JobSet
from echomq_app.service.bus import ServerBus
from echomq_app.service.flows import Flows
from echomq_app.service.lanes import Lanes
from echomq_app.service.queue import Queue
from echomq_app.service.records import PageRequest
from echomq_app.wire.link import Wire
from tests.protocol.lanes import GROUP, OTHER, laned, waits
from tests.protocol.scene import LONG, Scene, new_id
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.wire.flow_costs import FLOW_COSTS, five_to_carry

NOW = timedelta()
KEEP = Retention(mark="m", receipt_ms=60_000, outcome=b"{}", result_ms=60_000, limit=9)
Act = Callable[[], Any]


def parked(scene: Scene) -> None:
    scene.queue.schedule_in(new_id(), b"w", LONG)


COSTS: dict[str, tuple[int, Callable[[Scene, Queue], Act]]] = {
    "enqueue": (1, lambda scene, queue: lambda: queue.enqueue(new_id(), b"w")),
    "enqueue_new": (1, lambda scene, queue: lambda: queue.enqueue_new(b"w")),
    "enqueue_many": (
        1,
        lambda scene, queue: lambda: queue.enqueue_many([(new_id(), b"w") for _ in range(500)]),
    ),
    "enqueue_many of 501": (
        2,
        lambda scene, queue: lambda: queue.enqueue_many([(new_id(), b"w") for _ in range(501)]),
    ),
    "schedule_in": (1, lambda scene, queue: lambda: queue.schedule_in(new_id(), b"w", LONG)),
    "claim": (2, lambda scene, queue: (scene.enqueue(), lambda: queue.claim(LONG))[1]),
    "claim of nothing": (3, lambda scene, queue: lambda: queue.claim(LONG)),
    "claim_many": (
        1,
        lambda scene, queue: (
            [scene.enqueue() for _ in range(10)],
            lambda: queue.claim_many(LONG, 10),
        )[1],
    ),
    "claim_many of nothing": (1, lambda scene, queue: lambda: queue.claim_many(LONG, 10)),
    "complete": (1, lambda scene, queue: _with(scene.held(), queue.complete)),
    "complete with an outcome": (
        1,
        lambda scene, queue: _with(scene.held(), lambda held: queue.complete(held, KEEP)),
    ),
    "retry": (
        1,
        lambda scene, queue: _with(
            scene.held(),
            lambda held: queue.retry(held, delay=NOW, max_attempts=3, error="e", report=b"{}"),
        ),
    ),
    "release": (1, lambda scene, queue: _with(scene.held(), queue.release)),
    "delay": (1, lambda scene, queue: _with(scene.held(), lambda held: queue.delay(held, LONG))),
    "extend": (
        1,
        lambda scene, queue: _with(
            [scene.held() for _ in range(10)], lambda held: queue.extend(held, LONG)
        ),
    ),
    "promote": (1, lambda scene, queue: queue.promote),
    "reap": (1, lambda scene, queue: queue.reap),
    "trim": (1, lambda scene, queue: queue.trim),
    "pause": (1, lambda scene, queue: queue.pause),
    "resume": (1, lambda scene, queue: queue.resume),
    "is_paused": (1, lambda scene, queue: queue.is_paused),
    "remove": (1, lambda scene, queue: _with(scene.enqueue(), queue.remove)),
    "requeue": (1, lambda scene, queue: _with(scene.dead(), queue.requeue)),
    "requeue_many": (
        1,
        lambda scene, queue: _with([scene.dead() for _ in range(10)], queue.requeue_many),
    ),
    "drain": (1, lambda scene, queue: (scene.enqueue(), queue.drain)[1]),
    "drain of 500": (2, lambda scene, queue: _crowded(scene, queue.drain, 500)),
    "obliterate": (2, lambda scene, queue: queue.obliterate),
    "obliterate of 1000": (
        3,
        lambda scene, queue: (_crowded(scene, queue.obliterate, 1000), scene.queue.pause())[0],
    ),
    "update_data": (
        1,
        lambda scene, queue: _with(scene.enqueue(), lambda one: queue.update_data(one, b"new")),
    ),
    "dedup": (1, lambda scene, queue: lambda: queue.dedup("once", new_id(), LONG)),
    "dedup_holder": (1, lambda scene, queue: lambda: queue.dedup_holder("once")),
    "rate": (1, lambda scene, queue: queue.rate),
    "set_rate": (1, lambda scene, queue: lambda: queue.set_rate(5)),
    "rate_consult": (
        1,
        lambda scene, queue: (scene.enqueue(), lambda: queue.rate_consult(LONG, 10))[1],
    ),
    "progress": (
        1,
        lambda scene, queue: _with(scene.enqueue(), lambda job_id: queue.progress(job_id, "50")),
    ),
    "add_log": (
        1,
        lambda scene, queue: _with(scene.enqueue(), lambda job_id: queue.add_log(job_id, "line")),
    ),
    "logs": (1, lambda scene, queue: _with(scene.enqueue(), queue.logs)),
    "state": (1, lambda scene, queue: _with(scene.enqueue(), queue.state)),
    "pending_size": (1, lambda scene, queue: queue.pending_size),
    "facts": (1, lambda scene, queue: queue.facts),
    "browse": (1, lambda scene, queue: queue.browse),
    "job": (1, lambda scene, queue: _with(scene.enqueue(), queue.job)),
    "page of pending": (2, lambda scene, queue: _page(scene.enqueue, queue, JobSet.PENDING)),
    "page of dead": (2, lambda scene, queue: _page(scene.dead, queue, JobSet.DEAD)),
    "page of active": (3, lambda scene, queue: _page(scene.held, queue, JobSet.ACTIVE)),
    "page of schedule": (
        3,
        lambda scene, queue: _page(lambda: parked(scene), queue, JobSet.SCHEDULE),
    ),
}

LANE_COSTS: dict[str, tuple[int, Callable[[Scene, Lanes], Act]]] = {
    "enqueue": (1, lambda scene, lanes: lambda: lanes.enqueue(GROUP, new_id(), b"w")),
    "enqueue_new": (1, lambda scene, lanes: lambda: lanes.enqueue_new(GROUP, b"w")),
    "schedule_in": (1, lambda scene, lanes: lambda: lanes.schedule_in(GROUP, new_id(), b"w", LONG)),
    "claim": (1, lambda scene, lanes: _with(waits(scene), lambda _: lanes.claim(LONG, 10))),
    "claim of nothing": (1, lambda scene, lanes: lambda: lanes.claim(LONG)),
    "claim_weighted": (
        1,
        lambda scene, lanes: _with(waits(scene), lambda _: lanes.claim_weighted(LONG)),
    ),
    "pause": (1, lambda scene, lanes: lambda: lanes.pause(GROUP)),
    "resume": (1, lambda scene, lanes: lambda: lanes.resume(GROUP)),
    "limit": (1, lambda scene, lanes: lambda: lanes.limit(GROUP, 1)),
    "weight": (1, lambda scene, lanes: lambda: lanes.weight(GROUP, 2)),
    "reassign": (
        1,
        lambda scene, lanes: _with(laned(scene), lambda job_id: lanes.reassign(job_id, OTHER)),
    ),
    "drain": (1, lambda scene, lanes: _with(waits(scene), lambda _: lanes.drain(GROUP))),
    "drain of 501": (
        2,
        lambda scene, lanes: _with(waits(scene, count=501), lambda _: lanes.drain(GROUP)),
    ),
    "reap": (1, lambda scene, lanes: lambda: lanes.reap(GROUP)),
    "depth": (1, lambda scene, lanes: lambda: lanes.depth(GROUP)),
    "depths": (1, lambda scene, lanes: lambda: lanes.depths([GROUP, OTHER])),
    "known": (1, lambda scene, lanes: lanes.known),
}


def _crowded(scene: Scene, act: Act, count: int) -> Act:
    scene.queue.enqueue_many([(new_id(), b"w") for _ in range(count)])
    return act


def _with(found: Any, act: Callable[[Any], Any]) -> Act:
    return lambda: act(found)


def _page(fill: Act, queue: Queue, which: JobSet) -> Act:
    for _ in range(3):
        fill()
    return lambda: queue.page(PageRequest(which=which, limit=2))


@pytest.mark.parametrize("verb", COSTS)
def test_a_verb_costs_its_round_trips_and_no_more(
    beside: Scene, queue: Queue, proxy: CuttingProxy, verb: str
) -> None:
    cost, arrange = COSTS[verb]
    act = arrange(beside, queue)
    proxy.reset()

    act()

    assert proxy.round_trips == cost


@pytest.mark.parametrize("verb", LANE_COSTS)
def test_a_verb_of_lanes_costs_its_round_trips_and_no_more(
    beside: Scene, queue: Queue, proxy: CuttingProxy, verb: str
) -> None:
    cost, arrange = LANE_COSTS[verb]
    act = arrange(beside, Lanes(queue.wire, queue.name))
    proxy.reset()

    act()

    assert proxy.round_trips == cost


@pytest.mark.parametrize("verb", FLOW_COSTS)
def test_a_verb_of_flows_costs_its_round_trips_and_no_more(
    beside: Scene, queue: Queue, proxy: CuttingProxy, verb: str
) -> None:
    cost, arrange = FLOW_COSTS[verb]
    act = arrange(beside, Flows(queue.wire))
    proxy.reset()

    act()

    assert proxy.round_trips == cost


def test_ten_settles_and_the_next_claim_of_ten_are_one_round_trip(
    beside: Scene, queue: Queue, proxy: CuttingProxy
) -> None:
    keys = queue.keys
    held = [beside.held() for _ in range(10)]
    waiting = [beside.enqueue() for _ in range(10)]
    proxy.reset()

    *settled, claimed = queue.wire.answer(
        [
            *(calls.complete(keys, one.job_id, one.token, "", KEEP) for one in held),
            calls.claim_many(keys, 60_000, 10, "w1"),
        ]
    )

    assert proxy.round_trips == 1
    assert [answer.unwrap().value for answer in settled] == ["completed"] * 10
    assert [job.job_id for job in claimed.unwrap()] == waiting


def test_a_whole_beat_of_a_worker_is_one_round_trip(
    beside: Scene, queue: Queue, proxy: CuttingProxy
) -> None:
    beside.lapse(beside.held().job_id)
    beside.enqueue()
    proxy.reset()

    beat = queue.wire.run(calls.beat(queue.keys, batch=100, lease=60_000, size=10, label="w1"))

    assert proxy.round_trips == 1
    assert (beat.reaped, len(beat.jobs)) == (1, 2)


def test_a_first_call_reads_the_fence_and_loads_its_script(
    engine_server: Server, proxy: CuttingProxy
) -> None:
    engine_server.ask("SCRIPT", "FLUSH")

    Queue(Wire(proxy.client()), "q").enqueue(new_id(), b"w")

    names = [words[0].decode() for words in proxy.commands]
    assert names == ["GET", "SET", "GET", "EVALSHA", "SCRIPT", "EVALSHA"]
    assert proxy.round_trips == 6


def test_many_cold_scripts_of_one_pipeline_are_loaded_once_each(
    engine_server: Server, proxy: CuttingProxy, beside: Scene, queue: Queue
) -> None:
    held = [beside.held() for _ in range(10)]
    engine_server.ask("SCRIPT", "FLUSH")
    proxy.reset()

    queue.wire.answer([calls.complete(queue.keys, one.job_id, one.token) for one in held])

    names = [words[0].decode() for words in proxy.commands]
    assert names == ["EVALSHA"] * 10 + ["SCRIPT"] + ["EVALSHA"] * 10
    assert proxy.round_trips == 3


def test_a_duplicate_costs_one_more_to_tell_whose_it_is(
    beside: Scene, queue: Queue, proxy: CuttingProxy
) -> None:
    job_id = beside.enqueue(b"mine")
    proxy.reset()

    queue.enqueue(job_id, b"mine")
    assert proxy.round_trips == 2

    with pytest.raises(IdCollision):
        queue.enqueue(job_id, b"yours")
    assert proxy.round_trips == 4


def test_what_no_queue_owns_costs_one_round_trip_each(
    beside: Scene, queue: Queue, proxy: CuttingProxy
) -> None:
    bus = ServerBus(queue.wire)
    proxy.reset()

    for act in (bus.known_queues, lambda: bus.join("q"), bus.next_node, bus.server):
        before = proxy.round_trips
        act()
        assert proxy.round_trips == before + 1


def test_a_beat_tells_of_an_outbox_in_its_one_round_trip(
    beside: Scene, queue: Queue, proxy: CuttingProxy
) -> None:
    five_to_carry(beside, Flows(queue.wire))
    proxy.reset()

    beat = queue.wire.run(calls.beat(queue.keys, batch=100, lease=60_000, size=0, label=""))

    assert proxy.round_trips == 1
    assert beat.outbox == 5


@pytest.mark.parametrize(
    ("service", "costs"), [(Queue, COSTS), (Lanes, LANE_COSTS), (Flows, FLOW_COSTS)]
)
def test_every_method_of_a_service_has_its_cost_pinned(
    service: type, costs: dict[str, object]
) -> None:
    methods = {name for name in vars(service) if not name.startswith("_")}
    pinned = {name.split()[0] for name in costs}

    assert methods - pinned == ({"schedule_at"} & methods)
