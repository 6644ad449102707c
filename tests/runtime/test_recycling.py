"""When a process makes room for a fresh one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from echomq_app.runtime.events import Event
from echomq_app.runtime.held import Held, Loss
from echomq_app.runtime.outcomes import Completed, Outcome, Released
from echomq_app.runtime.recycling import Recycling, memory_reader
from echomq_app.runtime.threads import Run
from echomq_app.service.records import Lease
from tests.runtime.scene import MINTER, Clock, Scene, Tale

DONE = Completed()


def held() -> Held:
    lease = Lease(queue="q", job_id=MINTER.mint(), payload=b"{}", token=1, label="host:1:0")
    return Held(lease, 0.0, Loss(60.0, lambda: 0.0))


class Bench:
    """A recycling whose worker only counts how often it was told to retire."""

    def __init__(self, run: Run = lambda _: DONE, **options: Any) -> None:
        self.tale = Tale()
        self.retired = 0
        self.recycling = Recycling(run, self.tale, **options)
        self.recycling.retire = self._retire

    def _retire(self) -> None:
        self.retired += 1


def test_the_last_job_runs_retires_the_worker_once_and_those_after_it_are_given_back() -> None:
    bench = Bench(max_jobs=3)

    outcomes = [bench.recycling(held()) for _ in range(5)]

    assert outcomes == [DONE, DONE, DONE, Released(), Released()]
    assert bench.retired == 1
    assert bench.recycling.is_due
    assert bench.tale.told == [(Event.RECYCLING, {"jobs": 3})]


def test_the_worker_retires_as_the_last_job_begins() -> None:
    seen = []

    def run(_: Held) -> Outcome:
        seen.append(bench.retired)
        return DONE

    bench = Bench(run, max_jobs=2)
    for _ in range(2):
        bench.recycling(held())

    assert seen == [0, 1]


def test_many_threads_run_no_more_jobs_than_the_limit() -> None:
    bench = Bench(max_jobs=50)
    outcomes: list[object] = []
    threads = [
        threading.Thread(target=lambda: outcomes.extend(bench.recycling(held()) for _ in range(40)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outcomes.count(DONE) == 50
    assert bench.retired == 1


@pytest.mark.parametrize(("found", "retired"), [(100, 0), (101, 1)])
def test_a_process_that_is_bigger_than_it_may_be_retires_after_the_job(
    found: int, retired: int
) -> None:
    bench = Bench(max_bytes=100, resident=lambda: found)

    assert bench.recycling(held()) is DONE

    assert bench.retired == retired
    assert bench.tale.of(Event.RECYCLING) == [{"memory": 101, "most": 100}] * retired


def test_memory_is_looked_at_once_a_second() -> None:
    clock, looks = Clock(), []

    def resident() -> int:
        looks.append(clock.now)
        return 1

    bench = Bench(max_bytes=100, resident=resident, now=clock)
    for _ in range(5):
        bench.recycling(held())
        clock.pass_(0.5)

    assert looks == [1000.0, 1001.0, 1002.0]


def test_the_memory_that_is_read_grows_with_what_the_process_uses() -> None:
    reader = memory_reader()
    assert reader is not None
    before = reader()
    kept = b"x" * (64 << 20)

    assert reader() - before > len(kept) // 2


def test_a_worker_that_retires_claims_nothing_and_leaves_when_what_runs_has_ended(
    scene_of: Callable[..., Scene],
) -> None:
    scene = scene_of(concurrency=2)
    scene.enqueue(3)
    scene.worker.tick()
    assert len(scene.bench.running) == 2

    scene.worker.retire()
    for _ in range(40):
        assert scene.worker.tick() is not None
        scene.clock.pass_(1)
    scene.bench.end(scene.bench.running[0])
    assert scene.worker.tick() is not None
    scene.bench.end_all()

    assert scene.worker.tick() is None
    assert scene.queue.pending_size() == 1
    assert scene.queue.facts().counts.completed == 2
    assert scene.tale.of(Event.DRAINING) == []


def test_a_stop_bounds_the_time_of_a_worker_that_retires(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of()
    (job,) = scene.enqueue()
    scene.worker.tick()
    scene.worker.retire()
    scene.worker.tick()

    scene.worker.stop()
    assert scene.worker.tick() is not None
    scene.clock.pass_(31)

    assert scene.worker.tick() is None
    assert scene.states([job]) == ["pending"]
