"""Threads that run jobs, and the bell that they ring."""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator

import pytest

from echomq_app.protocol.ids import JobId
from echomq_app.runtime.held import Held, Loss
from echomq_app.runtime.outcomes import Completed, Ended, Failed, Outcome
from echomq_app.runtime.threads import Bell, ThreadExecutor
from echomq_app.service.records import Lease
from tests.eventually import eventually, stays


@pytest.fixture
def bell() -> Iterator[Bell]:
    bell = Bell()
    yield bell
    bell.close()


def held(name: str = "JOB00000000001") -> Held:
    lease = Lease(queue="q", job_id=JobId(name), payload=b"", token=1, label="w")
    return Held(lease=lease, claimed_at=0.0, lost=Loss(float("inf")))


def rings(bell: Bell) -> bool:
    return bool(select.select([bell], [], [], 0)[0])


def ours() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("emq-")}


def test_a_job_that_ended_rings_the_bell_and_its_outcome_is_there(bell: Bell) -> None:
    executor = ThreadExecutor(2, lambda _: Completed(), bell)
    job = held()

    executor.submit([job])
    eventually(lambda: rings(bell))

    assert [(one.held, one.outcome) for one in executor.finished()] == [(job, Completed())]
    assert executor.finished() == []
    executor.close()


def test_as_many_jobs_run_beside_each_other_as_there_are_threads(bell: Bell) -> None:
    together = threading.Barrier(3)

    def run(_: Held) -> Outcome:
        together.wait(10)
        return Completed()

    executor = ThreadExecutor(2, run, bell)
    executor.submit([held()])
    executor.submit([held()])
    together.wait(10)

    eventually(lambda: rings(bell))
    executor.close()


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt, RecursionError])
def test_what_a_runner_raises_costs_one_job_a_try_and_no_thread(
    bell: Bell, kind: type[BaseException]
) -> None:
    def run(job: Held) -> Outcome:
        if job.lease.job_id.endswith("2"):
            raise kind("broken runner")
        return Completed()

    executor = ThreadExecutor(1, run, bell)
    ended: list[Ended] = []
    for name in ("JOB00000000002", "JOB00000000001"):
        executor.submit([held(name)])

    def both() -> bool:
        ended.extend(executor.finished())
        return len(ended) == 2

    eventually(both)
    first, second = (one.outcome for one in ended)
    assert isinstance(first, Failed)
    assert first.error.startswith("Traceback")
    assert f"{kind.__name__}: broken runner" in first.error
    assert first.max_attempts > 0
    assert second == Completed()
    executor.close()


def test_closed_executors_leave_no_thread(bell: Bell) -> None:
    before = ours()
    executor = ThreadExecutor(8, lambda _: Completed(), bell)
    assert len(ours() - before) == 8
    assert all(thread.daemon for thread in ours() - before)

    executor.close()

    eventually(lambda: ours() <= before)


def test_a_bell_rung_more_often_than_its_socket_holds_still_rings_once_hushed(bell: Bell) -> None:
    for _ in range(100_000):
        bell.ring()
    assert rings(bell)

    bell.hush()
    stays(lambda: not rings(bell), for_=0.02)

    bell.ring()
    assert rings(bell)


def test_a_job_that_outlives_its_bell_ends_all_the_same() -> None:
    bell = Bell()
    entered, go_on = threading.Event(), threading.Event()

    def run(_: Held) -> Outcome:
        entered.set()
        go_on.wait(10)
        return Completed()

    executor = ThreadExecutor(1, run, bell)
    executor.submit([held()])
    assert entered.wait(10)
    bell.close()
    go_on.set()

    eventually(executor.finished)
    bell.ring()
    executor.close()
