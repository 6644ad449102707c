"""What becomes of jobs is published by its outcome, off the loop's thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from echomq_app.protocol.calls.events import QueueEvent
from echomq_app.runtime.events import Event, told_to
from echomq_app.runtime.outcomes import Delayed, Failed, Outcome
from echomq_app.runtime.publishing import MOST_WAITING, Publisher
from echomq_app.service.events import EventFeed
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.runtime.scene import Scene, Tale
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.servers.traps import named

SceneOf = Callable[..., Scene]
LONG_S = 10.0
MINUTE = timedelta(minutes=1)
JOB = "JOB0KHTOWnGLuC"


@pytest.fixture
def feed(engine_server: Server) -> Iterator[EventFeed]:
    with EventFeed(Wire(engine_server.client()), ["q"]) as feed:
        assert feed.wait_ready(LONG_S)
        yield feed


@pytest.fixture
def publisher(engine_server: Server) -> Iterator[Publisher]:
    publisher = Publisher(Wire(engine_server.client()))
    yield publisher
    publisher.close()


def test_each_end_of_a_job_is_published_by_its_outcome(
    scene: Scene, feed: EventFeed, publisher: Publisher
) -> None:
    scene.worker.report = told_to(scene.tale, publisher)
    done, retried, dead, parked = scene.enqueue(4)
    scene.worker.tick()
    ends: dict[str, Outcome] = {
        retried: Failed(error="boom", report=None, delay=MINUTE, max_attempts=2),
        dead: Failed(error="x" * 999 + "bust", report=None, delay=MINUTE, max_attempts=1),
        parked: Delayed(delay=MINUTE, why="later"),
    }
    for held in list(scene.bench.running):
        scene.bench.end(held, ends.get(held.lease.job_id))
    scene.worker.tick()

    heard = [feed.next(LONG_S) for _ in range(4)]

    first = {"attempt": "1"}
    assert heard == [
        QueueEvent("q", "completed", done, first),
        QueueEvent("q", "failed", retried, {"state": "scheduled", **first, "error": "boom"}),
        QueueEvent("q", "failed", dead, {"state": "dead", **first, "error": "x" * 496 + "bust"}),
        QueueEvent("q", "delayed", parked, first),
    ]


def test_a_settle_that_was_refused_is_not_published_as_done(
    scene: Scene, feed: EventFeed, publisher: Publisher
) -> None:
    scene.worker.report = told_to(scene.tale, publisher)
    (job_id,) = scene.enqueue()
    scene.worker.tick()
    scene.lapse(job_id)
    scene.queue.reap()
    scene.queue.claim_many(MINUTE, 1, "another")
    scene.bench.end_all()

    scene.worker.tick()

    assert len(scene.tale.of(Event.SETTLE_REFUSED)) == 1
    assert feed.next(0.3) is None


def test_a_loop_is_not_held_up_by_a_server_that_does_not_answer(
    proxy: CuttingProxy, feed: EventFeed
) -> None:
    held = proxy.hold_reply(named("PUBLISH"))
    publisher = Publisher(Wire(proxy.client()))
    publisher(Event.COMPLETED, queue="q", job=JOB)
    held.wait()

    for attempt in range(MOST_WAITING + 10):
        publisher(Event.COMPLETED, queue="q", job=JOB, attempt=attempt)
    held.release()

    assert feed.next(LONG_S) == QueueEvent("q", "completed", JOB, {})
    assert feed.next(LONG_S) == QueueEvent("q", "completed", JOB, {"attempt": "10"})
    publisher.close()


def test_what_finds_no_server_is_dropped_and_the_next_is_told(
    proxy: CuttingProxy, feed: EventFeed
) -> None:
    publisher = Publisher(Wire(proxy.client(), Bus(patience_s=0.05)))
    cut = proxy.cut_before_request(named("PUBLISH"))
    publisher(Event.COMPLETED, queue="q", job=JOB, attempt=1)
    eventually(lambda: cut.fired == 1)

    publisher(Event.COMPLETED, queue="q", job=JOB, attempt=2)

    assert feed.next(LONG_S) == QueueEvent("q", "completed", JOB, {"attempt": "2"})
    publisher.close()


def test_what_waits_is_sent_before_a_publisher_leaves(
    engine_server: Server, feed: EventFeed
) -> None:
    publisher = Publisher(Wire(engine_server.client()))
    for attempt in range(1200):
        publisher(Event.COMPLETED, queue="q", job=JOB, attempt=attempt)

    publisher.close()

    assert [feed.next(LONG_S) for _ in range(1200)][-1] == QueueEvent(
        "q", "completed", JOB, {"attempt": "1199"}
    )


def test_events_that_are_no_end_of_a_job_are_not_published(
    publisher: Publisher, feed: EventFeed
) -> None:
    for event in set(Event) - {Event.COMPLETED, Event.RETRIED, Event.BURIED, Event.DELAYED}:
        publisher(event, queue="q", job=JOB)

    assert feed.next(0.2) is None


def test_reports_are_told_in_their_order_and_a_single_one_is_itself() -> None:
    first, second = Tale(), Tale()
    told_to(first, second)(Event.SWEPT, reaped=1)

    assert first.told == second.told == [(Event.SWEPT, {"reaped": 1})]
    assert told_to(first) is first
