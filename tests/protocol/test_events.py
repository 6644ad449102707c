from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from echomq_app.protocol.calls import events
from echomq_app.protocol.calls.events import Published, QueueEvent
from echomq_app.protocol.errors import ConnectionLost, InvalidInput, InvalidJobId, InvalidQueueName
from echomq_app.service.events import EventChannel, EventFeed
from echomq_app.wire.link import Wire
from tests.protocol.scene import Scene, new_id
from tests.servers.proxy import CuttingProxy
from tests.servers.traps import named

LONG_S = 10.0
JOB = "JOB0KHTOWnGLuC"


@pytest.fixture
def feed(scene: Scene) -> Iterator[EventFeed]:
    with EventFeed(scene.wire, ["q", "other"]) as feed:
        assert feed.wait_ready(LONG_S)
        yield feed


@pytest.mark.parametrize("fact", ["plain", 'a "quoted"\n\\ line', "é ✓", "", "\ud800", 7])
def test_an_event_is_heard_as_it_was_told(scene: Scene, feed: EventFeed, fact: Any) -> None:
    job_id = new_id()

    assert EventChannel(scene.wire, "q").publish("baked", job_id, note=fact) == 1

    told = str(fact).replace("\ud800", "?")
    assert feed.next(LONG_S) == QueueEvent("q", "baked", job_id, {"note": told})


def test_events_of_several_queues_are_told_apart(scene: Scene, feed: EventFeed) -> None:
    for queue in ("other", "q"):
        EventChannel(scene.wire, queue).publish("baked", JOB)

    assert [getattr(feed.next(LONG_S), "queue", None) for _ in range(2)] == ["other", "q"]


def test_progress_is_heard_like_any_event(scene: Scene, feed: EventFeed) -> None:
    job_id = scene.enqueue()

    scene.queue.progress(job_id, "half way")

    wanted = QueueEvent("q", Published.PROGRESS, job_id, {"progress": "half way"})
    assert feed.next(LONG_S) == wanted


@pytest.mark.parametrize(
    ("raw", "event"),
    [
        (b'{"event":"completed","job":"J"}', QueueEvent("q", "completed", "J", {})),
        (b'{"job":"J","event":"x","n":7}', QueueEvent("q", "x", "J", {"n": "7"})),
        (
            b'{"event":"x","job":7,"deep":{"a":[1]}}',
            QueueEvent("q", "x", "7", {"deep": '{"a": [1]}'}),
        ),
        (b'{"event":"x"}', QueueEvent("q", "x", "", {})),
        (b'{"event":"x","job":"J","e":"a\nb\tc"}', QueueEvent("q", "x", "J", {"e": "a\nb\tc"})),
        (b"", None),
        (b"hello", None),
        (b"\xff\xfe", None),
        (b"[]", None),
        (b'"completed"', None),
        (b'{"job":"J"}', None),
        (b'{"event":7}', None),
        (b"[" * 100_000, None),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_messages_of_other_programs_are_read_or_passed_over(
    raw: bytes, event: QueueEvent | None
) -> None:
    assert events.read("q", raw) == event


def test_a_message_that_is_no_event_is_counted(scene: Scene, feed: EventFeed) -> None:
    scene.client.publish(scene.keys.events, "hello")

    assert feed.next(LONG_S) is None
    assert feed.unread == 1


def test_wrong_input_is_refused_before_any_wire(scene: Scene) -> None:
    channel = EventChannel(scene.wire, "q")

    with pytest.raises(InvalidInput, match="an event has a name that is not empty"):
        channel.publish("", JOB)
    with pytest.raises(InvalidJobId):
        channel.publish("baked", "nobody")
    with pytest.raises(InvalidInput, match="'job' is the event's own word"):
        channel.publish("baked", JOB, job="other")
    with pytest.raises(InvalidQueueName):
        EventFeed(scene.wire, ["a{b}"])
    assert scene.client.keys() == []


def test_an_event_whose_answer_was_lost_is_not_told_twice(
    scene: Scene, proxy: CuttingProxy
) -> None:
    with EventFeed(Wire(proxy.client()), ["q"]) as feed:
        assert feed.wait_ready(LONG_S)
        proxy.cut_before_reply(named("PUBLISH"))

        with pytest.raises(ConnectionLost):
            EventChannel(Wire(proxy.client()), "q").publish("baked", JOB)

        assert feed.next(LONG_S) == QueueEvent("q", "baked", JOB, {})
        assert feed.next(0.1) is None
