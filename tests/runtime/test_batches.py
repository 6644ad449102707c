"""Jobs that are run together: when a batch is taken, and what comes of each of its jobs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import FenceMismatch, InvalidInput
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.keyspace import VERSION
from echomq_app.protocol.states import State
from echomq_app.runtime.batches import BatchConsumer, BatchOptions
from echomq_app.runtime.events import Event
from echomq_app.runtime.loop import gather
from echomq_app.runtime.outcomes import Completed, Delayed, Failed, Outcome, Released
from echomq_app.runtime.shaping import Shape, Window, partition, size_now, verdict_of_each
from echomq_app.runtime.threads import Bell
from echomq_app.service.queue import Queue
from echomq_app.service.records import Lease
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.eventually import eventually, stays
from tests.protocol.scene import Scene
from tests.runtime.scene import Clock, Tale
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.servers.traps import named
from tests.wire.links import load_all, runs

SECOND = timedelta(seconds=1)


@pytest.fixture
def scene(engine_server: Server) -> Iterator[Scene]:
    load_all(engine_server)
    client = engine_server.client()
    yield Scene(client)
    client.close()


class Hands:
    """A handler that keeps its batches and gives the verdicts it is told to, else completes."""

    def __init__(self, **verdicts: Any) -> None:
        self.batches: list[list[JobId]] = []
        self.verdicts: dict[str, Any] = verdicts
        self.raises: Exception | None = None

    def __call__(self, batch: Sequence[Lease]) -> Mapping[str, Outcome]:
        self.batches.append([held.job_id for held in batch])
        if self.raises is not None:
            raise self.raises
        told = {held.job_id: self.verdicts.get(held.job_id, Completed()) for held in batch}
        return {job_id: verdict for job_id, verdict in told.items() if verdict is not None}


class Bench:
    """A consumer whose clock, handler and report are the test's."""

    def __init__(self, queue: Queue, shape: Shape, **options: Any) -> None:
        self.clock, self.tale, self.hands = Clock(), Tale(), Hands()
        self.consumer = BatchConsumer(
            queue,
            self.hands,
            shape,
            BatchOptions(**options),
            report=self.tale,
            now=self.clock,
        )

    def tick_after(self, seconds: float) -> float | None:
        self.clock.pass_(seconds)
        return self.consumer.tick()


@pytest.mark.parametrize(
    ("depth", "waited", "size"),
    [
        (0, 0, 0),
        (0, 9, 0),
        (2, 0, 0),
        (2, 0.999, 0),
        (2, 1, 2),
        (3, 0, 3),
        (5, 0, 5),
        (8, 0, 5),
        (8, 9, 5),
    ],
)
def test_a_batch_is_taken_at_the_floor_or_in_time_and_is_bounded(
    depth: int, waited: float, size: int
) -> None:
    shape = Shape(floor=3, ceiling=5, timeout=SECOND)

    assert size_now(shape, depth, timedelta(seconds=waited)) == size


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"floor": 0}, "1 <= floor <= ceiling <= 1000; got floor 0, ceiling 100"),
        ({"floor": 9, "ceiling": 8}, "got floor 9, ceiling 8"),
        ({"ceiling": 1001}, "got floor 1, ceiling 1001"),
        ({"timeout": -SECOND}, "a batch waits for no time or more"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Shape(**wrong)


def test_a_window_opens_with_the_first_job_and_not_with_the_last_batch() -> None:
    window = Window()

    assert window.waited(1, 100.0) == timedelta()
    assert window.waited(1, 100.5) == timedelta(seconds=0.5)
    window.restart()
    assert window.waited(0, 200.0) == timedelta()
    assert window.waited(1, 300.0) == timedelta()
    assert window.waited(0, 300.9) == timedelta()
    assert window.waited(1, 301.0) == timedelta()


def test_the_first_job_after_a_long_idle_time_waits_for_company(scene: Scene) -> None:
    bench = Bench(scene.queue, Shape(floor=3, timeout=SECOND))
    bench.consumer.tick()
    first = scene.enqueue()

    bench.tick_after(60)
    second = scene.enqueue()
    bench.tick_after(0.5)

    assert bench.hands.batches == []
    bench.tick_after(0.5)
    assert bench.hands.batches == [[first, second]]


def test_a_consumer_says_how_long_to_wait(scene: Scene) -> None:
    bench = Bench(scene.queue, Shape(floor=2, timeout=timedelta(milliseconds=70)))

    assert (bench.consumer.tick(), bench.consumer.idle) == (1.0, True)
    scene.enqueue()
    assert (bench.consumer.tick(), bench.consumer.idle) == (0.05, False)
    assert bench.tick_after(0.05) == pytest.approx(0.02)
    assert bench.tick_after(0.02) == 0.0
    assert bench.consumer.tick() == 1.0
    bench.consumer.stop()
    assert bench.consumer.tick() is None


def test_each_job_of_a_batch_goes_where_its_verdict_says(scene: Scene) -> None:
    bench = Bench(scene.queue, Shape(floor=6), max_attempts=1)
    done, failed, dead, parked, freed, silent = [scene.enqueue() for _ in range(6)]
    bench.hands.verdicts = {
        failed: Failed(error="boom", report=None, delay=SECOND, max_attempts=9),
        dead: Failed(error="bust", report=None, delay=SECOND, max_attempts=1),
        parked: Delayed(delay=SECOND, why="later"),
        freed: Released(),
        silent: None,
    }

    bench.consumer.tick()

    states = [scene.queue.state(job_id) for job_id in (done, failed, dead, parked, freed, silent)]
    assert states == [
        State.DONE,
        State.SCHEDULED,
        State.DEAD,
        State.SCHEDULED,
        State.PENDING,
        State.DEAD,
    ]
    assert scene.fields(silent, "last_error") == ["missing verdict"]
    assert bench.tale.of(Event.BATCH_DONE) == [
        {"queue": "q", "completed": 1, "retried": 1, "dead": 2, "delayed": 1, "released": 1}
    ]


def test_a_completed_job_leaves_a_receipt_unless_its_verdict_keeps_more(scene: Scene) -> None:
    bench = Bench(scene.queue, Shape(floor=2))
    plain, kept = scene.enqueue(), scene.enqueue()
    keep = Retention(mark="m", receipt_ms=9_000_000)
    bench.hands.verdicts = {kept: Completed(keep=keep)}

    bench.consumer.tick()

    assert 0 < scene.client.pttl(scene.keys.result(plain)) <= 120_000
    assert scene.client.pttl(scene.keys.result(kept)) > 120_000


def test_a_verdict_that_is_none_is_told_and_the_job_tried_again(scene: Scene) -> None:
    bench = Bench(scene.queue, Shape())
    job_id = scene.enqueue()
    bench.hands.verdicts = {job_id: "fine"}

    bench.consumer.tick()

    wrong = "a verdict is an outcome; got 'fine'"
    assert scene.fields(job_id, "state", "last_error") == ["scheduled", wrong]


def test_a_handler_that_raises_has_its_whole_batch_tried_again(scene: Scene) -> None:
    bench = Bench(scene.queue, Shape(floor=2))
    jobs = [scene.enqueue(), scene.enqueue()]
    bench.hands.raises = KeyError("no such thing")

    bench.consumer.tick()

    for job_id in jobs:
        state, error = scene.fields(job_id, "state", "last_error")
        assert state == "scheduled"
        assert "KeyError: 'no such thing'" in str(error)


def test_verdicts_on_strangers_are_left_aside() -> None:
    held = Lease(queue="q", job_id=JobId("JOB0KHTOWnGLuC"), payload=b"", token=1, label="")
    verdicts = {"JOB0KHTOWnGLuC": Completed(), "JOB0KHTOWnGLuD": Completed()}

    ends = verdict_of_each([held], verdicts, lambda error: Released())

    assert ends == [(held, Completed())]


def test_what_somebody_else_settled_is_in_the_bucket_of_the_refused(scene: Scene) -> None:
    bench = Bench(scene.queue, Shape())
    job_id = scene.enqueue()

    def lose(batch: Sequence[Lease]) -> Mapping[str, Outcome]:
        scene.lapse(job_id)
        scene.queue.reap()
        scene.claim("another")
        return {job_id: Completed()}

    bench.consumer.handler = lose
    bench.consumer.tick()

    assert bench.tale.of(Event.COMPLETED) == []
    assert bench.tale.of(Event.BATCH_DONE) == [{"queue": "q", "refused": 1}]
    assert scene.places(job_id) == ["active"]


def test_each_end_falls_in_one_bucket_and_none_is_forgotten() -> None:
    ends = [(str(number), event) for number, event in enumerate(Event)]

    found = partition(ends)

    assert sorted(job for bucket in found for job in bucket) == sorted(job for job, _ in ends)


def test_a_job_whose_workers_died_too_often_is_buried_and_not_handled(scene: Scene) -> None:
    bench = Bench(scene.queue, Shape(floor=2), max_lapses=1)
    good, poison = scene.enqueue(), scene.enqueue()
    scene.client.hset(scene.keys.row(poison), "lapses", 1)

    bench.consumer.tick()

    assert bench.hands.batches == [[good]]
    assert scene.queue.state(poison) is State.DEAD


def test_a_paused_queue_gives_no_batch_and_is_not_asked_in_haste(scene: Scene) -> None:
    bench = Bench(scene.queue, Shape())
    scene.enqueue()
    scene.queue.pause()

    assert bench.consumer.tick() == 1.0

    assert bench.hands.batches == []
    assert scene.queue.pending_size() == 1


def test_leases_are_renewed_while_a_handler_works_and_lost_ones_are_not_settled(
    scene: Scene,
) -> None:
    bench = Bench(scene.queue, Shape(floor=2), lease=timedelta(milliseconds=300))
    ours, theirs = scene.enqueue(), scene.enqueue()

    def work(batch: Sequence[Lease]) -> Mapping[str, Outcome]:
        began = scene.server_ms()
        scene.client.zrem(scene.keys.active, theirs)
        stays(lambda: scene.queue.reap() == 0, for_=0.7)
        assert (scene.score("active", ours) or 0) > began + 600
        return {ours: Completed(), theirs: Completed()}

    bench.consumer.handler = work
    bench.consumer.tick()

    assert [facts["job"] for facts in bench.tale.of(Event.COMPLETED)] == [ours]
    assert [facts["job"] for facts in bench.tale.of(Event.OUTCOME_DROPPED)] == [theirs]


def consumer_behind(proxy: CuttingProxy, **options: Any) -> Bench:
    """A consumer that waits for no server."""
    wire = Wire(proxy.client(), Bus(patience_s=0.05))
    return Bench(Queue(wire, "q"), Shape(), **options)


def test_an_outcome_that_found_no_server_is_settled_by_the_next_tick(
    scene: Scene, proxy: CuttingProxy
) -> None:
    bench = consumer_behind(proxy)
    job_id = scene.enqueue()
    proxy.cut_before_request(runs("complete"), times=9)

    bench.consumer.tick()
    assert scene.places(job_id) == ["active"]
    proxy.reset()
    bench.consumer.tick()

    assert scene.places(job_id) == []
    assert [facts["job"] for facts in bench.tale.of(Event.COMPLETED)] == [job_id]


def test_an_outcome_that_never_found_a_server_is_told_when_the_consumer_leaves(
    scene: Scene, proxy: CuttingProxy
) -> None:
    bench = consumer_behind(proxy)
    job_id = scene.enqueue()
    proxy.cut_before_request(runs("complete"), times=99)

    bench.consumer.tick()
    bench.consumer.stop()

    assert bench.consumer.tick() is None
    assert [facts["job"] for facts in bench.tale.of(Event.OUTCOME_DROPPED)] == [job_id]


def test_a_server_that_is_away_is_told_once_and_so_is_its_return(
    scene: Scene, proxy: CuttingProxy
) -> None:
    bench = consumer_behind(proxy)
    bench.consumer.tick()
    proxy.cut_before_request(named("ZCARD"), times=99)

    assert [bench.consumer.tick() for _ in range(3)] == [1.0] * 3
    proxy.reset()
    bench.consumer.tick()

    assert bench.tale.events() == [Event.SERVER_AWAY, Event.SERVER_BACK]


def test_a_batch_whose_answer_was_lost_is_told_and_comes_back_by_its_leases(
    scene: Scene, proxy: CuttingProxy
) -> None:
    bench = consumer_behind(proxy)
    job_id = scene.enqueue()
    proxy.cut_before_reply(runs("claim_many"))

    bench.consumer.tick()

    assert bench.hands.batches == []
    assert len(bench.tale.of(Event.CLAIM_LOST)) == 1
    assert scene.places(job_id) == ["active"]


def test_keys_that_cannot_be_worked_with_are_told_once(scene: Scene) -> None:
    bench = Bench(scene.queue, Shape())
    scene.client.set(scene.keys.pending, "x")

    for _ in range(3):
        bench.consumer.tick()

    assert bench.tale.events() == [Event.QUEUE_BROKEN]


def test_another_server_behind_the_address_ends_the_consumer(scene: Scene) -> None:
    scene.client.set(VERSION, "echomq:9.9.9")

    with pytest.raises(FenceMismatch):
        Bench(scene.queue, Shape()).consumer.tick()


def test_an_idle_consumer_is_woken_by_a_job_and_stopped_by_its_bell(scene: Scene) -> None:
    bell, hands = Bell(), Hands()
    beat = timedelta(seconds=30)
    consumer = BatchConsumer(scene.queue, hands, Shape(), BatchOptions(beat=beat))
    thread = threading.Thread(target=gather, args=(consumer, bell), daemon=True)
    thread.start()
    eventually(lambda: scene.client.info("clients")["blocked_clients"] == 1)

    job_id = scene.enqueue()

    eventually(lambda: hands.batches == [[job_id]])
    consumer.stop()
    bell.ring()
    thread.join(10)
    assert not thread.is_alive()
    bell.close()
