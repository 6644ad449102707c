"""What a worker, or a supervisor of some, tells of what runs when it is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue

import pytest

from echomq_app.runtime.events import Event
from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Completed, Outcome
from echomq_app.runtime.survey import stack, tell_in_time, tell_of_processes, tell_of_worker
from echomq_app.runtime.threads import Bell, ThreadExecutor
from tests.eventually import eventually
from tests.runtime.crew import Crew, crew
from tests.runtime.scene import Scene, Tale
from tests.servers.server import Server

SceneOf = Callable[..., Scene]


@pytest.fixture
def supervised(engine_server: Server) -> Iterator[Crew]:
    with crew(engine_server.client(), engine_server.client(), processes=2) as made:
        yield made


def test_each_job_is_told_with_its_task_its_age_and_what_is_left_of_its_lease(
    scene_of: SceneOf,
) -> None:
    scene = scene_of(concurrency=2)
    jobs = scene.enqueue(2)
    scene.tick()
    scene.clock.pass_(12)
    tale = Tale()

    tell_of_worker(scene.worker, tale)

    (about,) = tale.of(Event.SURVEYED)
    assert (about["running"], about["waiting"], about["slots"]) == (2, 0, 2)
    assert "tell_of_worker" in str(about["stack"])
    told = tale.of(Event.RUNNING)
    assert [one["job"] for one in told] == jobs
    assert {one["task"] for one in told} == {"tests.task"}
    assert {(one["seconds"], one["lease_s"]) for one in told} == {(12.0, 48.0)}


def test_a_job_is_told_with_its_thread_and_where_that_stands(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=1)
    entered, leave = SimpleQueue[str](), threading.Event()

    def stands_here(held: Held) -> Outcome:
        entered.put(held.lease.job_id)
        leave.wait(30)
        return Completed()

    executor = ThreadExecutor(1, stands_here, Bell())
    worker, tale = scene.new_worker(executor), Tale()
    (job,) = scene.enqueue()
    worker.tick()
    assert entered.get(timeout=10) == job
    try:
        tell_of_worker(worker, tale)
    finally:
        leave.set()
        executor.close()

    (told,) = tale.of(Event.RUNNING)
    assert told["thread"] == "emq-0"
    names = [call.split(" ")[0] for call in str(told["stack"]).split(" < ")]
    assert names.index("wait") < names.index("stands_here") < names.index("_work")


def test_a_worker_without_a_job_says_so(scene: Scene) -> None:
    tell_of_worker(scene.worker, scene.tale)

    assert scene.tale.events() == [Event.SURVEYED]


def test_a_payload_that_is_no_task_is_told_without_a_name(scene: Scene) -> None:
    (job,) = scene.enqueue()
    scene.queue.update_data(job, b"not a task")
    scene.tick()

    tell_of_worker(scene.worker, scene.tale)

    assert scene.tale.of(Event.RUNNING)[0]["task"] == ""


def test_a_thread_without_a_frame_has_an_empty_stack() -> None:
    assert stack(None) == ""


def test_who_does_not_come_back_from_telling_is_answered_by_the_interpreter(
    capfd: pytest.CaptureFixture[str],
) -> None:
    held = threading.Event()

    tell_in_time(lambda: held.wait(30), within_s=0.05)

    held.set()
    assert "Current thread" in capfd.readouterr().err


def test_a_supervisor_tells_of_each_process_by_its_memory_and_asks_those_that_serve(
    supervised: Crew,
) -> None:
    supervised.tick()
    hung, starting = supervised.puppets
    (held,) = supervised.claim()
    hung.serve(held)
    hung.own.start(held)
    tale = Tale()

    tell_of_processes(supervised.supervisor, tale)

    about = {one["pid"]: one for one in tale.of(Event.SURVEYED)}
    assert about[hung.pid]["running"] == 1
    assert about[starting.pid]["ready"] is False
    assert [(one["job"], one["pid"]) for one in tale.of(Event.RUNNING)] == [
        (held.lease.job_id, hung.pid)
    ]
    assert ("ask" in hung.told, "ask" in starting.told) == (True, False)


def test_a_process_that_ends_meanwhile_is_passed_over(supervised: Crew) -> None:
    supervised.tick()
    gone, other = supervised.puppets
    other.serve()
    gone.ledger.close()

    tell_of_processes(supervised.supervisor, supervised.tale)

    eventually(lambda: "ask" in other.told)
