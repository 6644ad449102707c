"""A process makes itself known every few seconds, and obeys what is wished of it."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest

from echomq_app.protocol.states import Wish
from echomq_app.runtime.desk import beside
from echomq_app.runtime.events import Event
from echomq_app.runtime.presence import Presence
from echomq_app.runtime.records import Told, obeying, stopping_on_wish, worker_record
from echomq_app.runtime.threads import Bell
from echomq_app.service.workers import WorkerFacts, Workers
from tests.eventually import eventually
from tests.runtime.scene import Scene
from tests.runtime.serving import serving
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.wire.links import load_all


class Known:
    """A scene's worker with its presence, on the wire that loses what it is told to lose."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.operator = Workers(scene.queue.wire)
        told = Told(scene.worker.name, "worker", scene.worker.queues)
        self.presence = Presence(
            Workers(scene.wire),
            lambda: worker_record(told, scene.worker),
            obeying(scene.worker, Bell()),
            scene.tale,
            scene.clock,
        )

    def look(self, after: float = 5.0) -> None:
        self.scene.clock.pass_(after)
        self.presence.look()

    @property
    def facts(self) -> WorkerFacts:
        (found,) = self.operator.list()
        return found


@pytest.fixture
def known(scene: Scene) -> Known:
    return Known(scene)


def test_a_worker_tells_what_it_serves_and_runs(known: Known) -> None:
    (job,) = known.scene.enqueue()
    known.scene.tick()
    known.look(3.0)

    told = known.facts.record
    assert (told.kind, told.slots, told.queues, told.state) == ("worker", 8, ("q",), "serving")
    assert told.running == 1
    assert told.jobs == (("q", job, "tests.task", 3.0),)


def test_it_is_told_in_one_round_trip_every_five_seconds(known: Known, proxy: CuttingProxy) -> None:
    known.look()
    proxy.reset()

    for _ in range(20):
        known.look(1.0)

    assert proxy.round_trips == 4
    assert len(proxy.commands) == 12


def test_a_quiet_worker_claims_nothing_sweeps_on_and_claims_again_when_resumed(
    known: Known,
) -> None:
    scene = known.scene
    known.look()
    known.operator.quiet(scene.worker.name)
    known.look()
    (parked,) = scene.enqueue()
    (held,) = scene.queue.claim_many(timedelta(minutes=1), 1, "another")
    scene.queue.delay(held, timedelta())
    scene.clock.pass_(1)
    scene.worker.tick({scene.keys.wake})

    assert (scene.ran, scene.worker.free, scene.worker.may_park) == ([], 0, False)
    assert scene.queue.facts().counts.pending == 1
    known.look()
    assert known.facts.record.state == "quiet"

    known.operator.resume(scene.worker.name)
    known.look()
    scene.worker.tick()

    assert scene.ran == [parked]
    assert scene.tale.of(Event.WISHED) == [{"wish": "quiet"}, {"wish": "serve"}]


def test_what_runs_goes_on_in_a_quiet_worker_and_is_settled(known: Known) -> None:
    scene = known.scene
    scene.enqueue()
    scene.tick()
    scene.worker.quiet = True

    scene.bench.end_all()
    scene.clock.pass_(1)

    assert scene.worker.tick() is not None
    assert scene.queue.facts().counts.completed == 1


def test_a_worker_that_is_asked_to_stop_drains(known: Known) -> None:
    known.look()
    known.operator.stop(known.scene.worker.name)

    known.look()

    assert known.scene.worker.stopping
    assert known.scene.worker.tick() is None


def test_a_wish_is_obeyed_once_and_its_end_changes_nothing(known: Known) -> None:
    known.look()
    known.operator.quiet(known.scene.worker.name)
    for _ in range(3):
        known.look()
    known.scene.client.flushall()

    known.look()

    assert known.scene.worker.quiet
    assert len(known.scene.tale.of(Event.WISHED)) == 1


def test_a_list_takes_two_round_trips_a_wish_one_more_and_leaving_one(
    known: Known, proxy: CuttingProxy
) -> None:
    known.look()
    there = Workers(known.scene.wire)
    cost = []
    for act in (there.list, lambda: there.quiet(known.scene.worker.name), known.presence.leave):
        proxy.reset()
        act()
        cost.append(proxy.round_trips)

    assert cost == [2, 3, 1]


def test_without_a_server_a_worker_goes_on_and_is_known_again_later(
    known: Known, proxy: CuttingProxy
) -> None:
    away = proxy.cut_before_request(times=100_000)
    known.look()
    away.left = 0
    assert list(known.operator.list()) == []

    known.look()

    assert known.facts.record.name == known.scene.worker.name


def test_who_leaves_is_known_no_more(known: Known) -> None:
    known.presence.leave()
    known.look()

    known.presence.leave()

    assert list(known.operator.list()) == []


@pytest.mark.parametrize("wish", list(Wish))
def test_what_claims_nothing_can_only_be_asked_to_stop(wish: Wish) -> None:
    stopped = threading.Event()

    stopping_on_wish(stopped.set, Bell())(wish)

    assert stopped.is_set() is (wish is Wish.STOP)


def test_a_supervisor_writes_the_wish_anew_that_the_server_has_lost_for_processes_to_come(
    scene: Scene,
) -> None:
    told, operator = Told("h:1:a", "supervisor", scene.worker.queues), Workers(scene.queue.wire)
    obey = stopping_on_wish(scene.worker.stop, Bell())
    presence = Presence(
        Workers(scene.wire), lambda: told.of("serving"), obey, scene.tale, scene.clock
    )
    presence.look()
    operator.quiet("h:1:a")
    for _ in range(2):
        scene.clock.pass_(5)
        presence.look()

    scene.client.flushdb()
    scene.clock.pass_(5)
    presence.look()

    (facts,) = operator.list()
    assert facts.wish is Wish.QUIET


def test_a_desk_looks_at_once_and_goes_with_its_block() -> None:
    looked = threading.Event()
    before = set(threading.enumerate())

    with beside([looked.set], every_s=60):
        assert looked.wait(10)

    eventually(lambda: set(threading.enumerate()) <= before)


def test_an_idle_worker_that_is_known_sends_three_commands_more_every_five_seconds(
    engine_server: Server, proxy: CuttingProxy
) -> None:
    load_all(engine_server)
    client = proxy.client()
    with serving(client, "q", beat=timedelta(seconds=1)):
        scene = Scene(engine_server.client(), client)
        known = Known(scene)
        scene.clock.now = time.monotonic()
        presence = Presence(
            Workers(scene.wire),
            lambda: worker_record(Told("w", "worker", scene.queues), scene.worker),
            known.presence._obey,
            scene.tale,
        )
        with beside([presence.look]):
            eventually(lambda: len(proxy.commands) > 5)
            proxy.reset()
            began = time.monotonic()
            eventually(lambda: time.monotonic() - began > 10, within=30, every=0.05)
            sent = len(proxy.commands)

    assert 10 <= sent <= 2 * 11 + 3 * 3
