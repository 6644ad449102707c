"""Whose turn it is to tick, and that no outcome waits because two threads left it to each other."""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial

import pytest

from echomq_app.protocol.errors import FenceMismatch
from echomq_app.runtime.events import Event
from echomq_app.runtime.held import Held
from echomq_app.runtime.loop import serve
from echomq_app.runtime.outcomes import Completed, Outcome
from echomq_app.runtime.threads import Bell, ThreadExecutor
from echomq_app.runtime.turns import Turns
from echomq_app.runtime.worker import Worker, WorkerOptions
from echomq_app.service.queue import Queue
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.runtime.scene import LEASE, MINTER, Scene, Tale, new_payload
from tests.runtime.serving import serving
from tests.runtime.test_ahead import measured
from tests.servers.server import Server

LONG_BEAT = timedelta(seconds=30)


def test_no_outcome_waits_for_the_beat_however_many_threads_end_jobs_at_once(
    engine_server: Server,
) -> None:
    queue = Queue(Wire(engine_server.client()), "q")
    with serving(engine_server.client(), "q", concurrency=16, beat=LONG_BEAT) as tale:

        def done(count: int) -> bool:
            return len(tale.of(Event.COMPLETED)) == count

        total = 0
        for size in (1, 2, 17, 400):
            for _ in range(5):
                jobs = [(MINTER.mint(), new_payload()) for _ in range(size)]
                queue.enqueue_many(jobs)
                total += size
                eventually(partial(done, total))


class Ticker:
    """A worker of whose ticks the test decides."""

    def __init__(self) -> None:
        self.ticks = 0
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.pause: float | None = 10.0
        self.may_park = True
        self.error: Exception | None = None

    def now(self) -> float:
        return 0.0

    def tick(self, woken: set[str] = frozenset()) -> float | None:  # type: ignore[assignment]  # as the worker's
        self.ticks += 1
        self.entered.set()
        assert self.go_on.wait(10)
        if self.error is not None:
            raise self.error
        return self.pause


@pytest.mark.parametrize("first", ["loop", "job"])
def test_a_job_that_ends_while_another_thread_ticks_gets_a_tick_of_its_own(first: str) -> None:
    ticker, bell = Ticker(), Bell()
    turns = Turns(ticker, bell)  # type: ignore[arg-type]  # a worker as far as turns look
    act = (lambda: turns.take(set())) if first == "loop" else turns.offer
    busy = threading.Thread(target=act)
    busy.start()
    ticker.entered.wait(10)

    turns.offer()
    ticker.go_on.set()
    busy.join(10)

    assert ticker.ticks == 2
    bell.close()


def test_what_a_tick_raises_in_a_jobs_thread_ends_the_loop() -> None:
    ticker, bell = Ticker(), Bell()
    turns = Turns(ticker, bell)  # type: ignore[arg-type]  # a worker as far as turns look
    ticker.go_on.set()
    turns.take(set())
    ticker.error = FenceMismatch("another server")

    turns.offer()

    with pytest.raises(FenceMismatch, match="another server"):
        turns.take(set())
    assert ticker.ticks == 2
    bell.close()


def test_the_loop_is_woken_when_its_wait_changes_and_left_alone_when_not() -> None:
    ticker, bell = Ticker(), Bell()
    turns = Turns(ticker, bell)  # type: ignore[arg-type]  # a worker as far as turns look
    rings: list[float | None] = []
    bell.ring = lambda: rings.append(ticker.pause)  # type: ignore[method-assign]  # the test listens
    ticker.go_on.set()
    ticker.may_park = False
    turns.take(set())

    turns.offer()
    ticker.pause = 1.0
    turns.offer()
    ticker.pause, ticker.may_park = 20.0, True
    turns.offer()
    ticker.pause = None
    turns.offer()

    assert rings == [1.0, 20.0, None]
    bell.close()


def test_a_worker_whose_heartbeat_died_ends_instead_of_losing_leases(
    engine_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire, bell = Wire(engine_server.client()), Bell()

    def run(_: Held) -> Outcome:
        return Completed()

    executor = ThreadExecutor(1, run, bell)
    worker = Worker(wire, [Queue(wire, "q")], executor, WorkerOptions(lease=LEASE), report=Tale())
    monkeypatch.setattr(worker.leases.__class__, "next_due", lambda _: 1 / 0)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    with pytest.raises(RuntimeError, match="the heartbeat died"):
        serve(worker, bell)
    executor.close()
    bell.close()


def test_outcomes_of_short_jobs_share_their_round_trips(scene: Scene) -> None:
    measured(scene, 0.001)
    scene.enqueue(100)

    scene.worker.tick({scene.keys.wake})

    assert scene.bench.ring_after == (scene.worker.running - scene.worker.options.concurrency) // 2
    assert scene.bench.ring_after > 10
