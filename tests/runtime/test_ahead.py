"""Which jobs a worker claims ahead of a free slot, and what becomes of those that wait in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from queue import SimpleQueue

import pytest

from echomq_app.runtime.events import Event
from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Completed, Outcome
from echomq_app.runtime.pace import FEWEST_RUNS, MOST_AHEAD, WINDOW_S, Pace
from echomq_app.runtime.worker import BUSY_PAUSE_S
from echomq_app.service.queue import Queue
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.runtime.scene import MINTER, Scene, new_payload
from tests.runtime.serving import serving
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.wire.links import runs

SceneOf = Callable[..., Scene]
STALLS = 20


def measured(scene: Scene, seconds: float) -> None:
    """Let the worker's single slot run jobs of ``seconds`` until it knows how long they take."""
    scene.bench.size = 1
    scene.enqueue(FEWEST_RUNS)
    for _ in range(FEWEST_RUNS):
        scene.worker.tick({scene.keys.wake})
        scene.clock.pass_(seconds)
        scene.bench.end_all()
    scene.worker.tick()


def completed(scene: Scene) -> set[object]:
    """The jobs whose completion was told."""
    return {facts["job"] for facts in scene.tale.of(Event.COMPLETED)}


@pytest.mark.parametrize(
    ("seconds", "slots", "ahead"),
    [(0.01, 1, 5), (0.01, 4, 20), (0.05, 8, 8), (0.051, 1, 0), (1.0, 8, 0), (0.0, 1, MOST_AHEAD)],
)
def test_as_many_jobs_are_ahead_as_will_start_within_the_window(
    seconds: float, slots: int, ahead: int
) -> None:
    pace = Pace(slots)
    for _ in range(FEWEST_RUNS):
        assert pace.ahead == 0
        pace.ran(seconds)

    assert pace.ahead == ahead


def test_a_long_run_among_short_ones_cuts_what_is_claimed_ahead() -> None:
    pace = Pace(1)
    for _ in range(100):
        pace.ran(0.001)
    before = pace.ahead

    pace.ran(2.0)

    assert before == 50
    assert pace.ahead == 0


def test_nothing_is_claimed_ahead_of_long_jobs(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 1.0)
    scene.enqueue(10)

    scene.worker.tick({scene.keys.wake})

    assert len(scene.bench.running) == 1
    assert scene.bench.waiting == []


def test_short_jobs_are_claimed_ahead_in_the_call_that_claims_for_the_free_slot(
    scene_of: SceneOf, proxy: CuttingProxy
) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 0.01)
    jobs = scene.enqueue(10)
    proxy.reset()

    scene.worker.tick({scene.keys.wake})

    assert scene.ran == jobs[:1]
    assert [one.lease.job_id for one in scene.bench.waiting] == jobs[1:6]
    assert sum(runs("claim_many")(words) for words in proxy.commands) == 1


def test_what_is_claimed_ahead_is_filled_up_when_half_of_it_has_begun(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 0.01)
    scene.enqueue(20)
    scene.worker.tick({scene.keys.wake})

    in_hand = []
    for _ in range(5):
        scene.clock.pass_(0.01)
        scene.bench.end(scene.bench.running[0])
        scene.worker.tick()
        in_hand.append(scene.worker.running)

    assert in_hand == [5, 4, 3, 5, 4]


def test_the_server_works_on_a_settle_and_a_claim_while_jobs_run(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 0.01)
    jobs = scene.enqueue(20)
    scene.worker.tick({scene.keys.wake})
    for _ in range(3):
        scene.clock.pass_(0.01)
        scene.bench.end(scene.bench.running[0])

    pause = scene.worker.tick()

    assert eventually(lambda: scene.states(jobs[:3]) == ["absent"] * 3)
    assert not completed(scene) & set(jobs)
    assert scene.worker.running == 3
    assert pause == BUSY_PAUSE_S
    assert scene.bench.ring_after == 2

    scene.worker.tick()

    assert completed(scene) & set(jobs) == set(jobs[:3])
    assert scene.worker.running == 6
    assert scene.client.zcard(scene.keys.active) == 6


def test_jobs_that_were_long_on_their_way_wait_here_for_as_long_as_others(
    scene_of: SceneOf,
) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 0.01)
    jobs = scene.enqueue(20)
    scene.worker.tick({scene.keys.wake})
    for _ in range(3):
        scene.clock.pass_(0.01)
        scene.bench.end(scene.bench.running[0])
    scene.worker.tick()
    for _ in range(3):
        scene.bench.end(scene.bench.running[0])

    scene.clock.pass_(0.06)
    scene.worker.tick()

    assert scene.tale.of(Event.RELEASED) == []
    assert scene.ran == jobs[6:7]
    assert scene.bench.waiting != []
    sent_at = scene.clock.now - 0.06
    assert {held.lost.until for held in scene.bench.waiting} == {sent_at + 60}


def test_the_answers_are_waited_for_when_no_job_waits(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=2)
    measured(scene, 0.01)
    (job,) = scene.enqueue(1)
    scene.worker.tick({scene.keys.wake})
    scene.bench.end_all()

    scene.worker.tick()

    assert job in completed(scene)


def test_a_worker_that_stops_hears_what_it_was_given_and_gives_it_back(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 0.01)
    jobs = scene.enqueue(20)
    scene.worker.tick({scene.keys.wake})
    for _ in range(3):
        scene.bench.end(scene.bench.running[0])
    scene.worker.tick()

    scene.worker.stop()
    scene.worker.tick()
    scene.bench.end_all()
    assert scene.worker.tick() is None

    assert scene.states(jobs) == [*["absent"] * 4, *["pending"] * 16]
    assert not scene.worker.leases


def test_a_worker_whose_time_is_up_hears_what_it_was_given_and_gives_it_back(
    scene_of: SceneOf,
) -> None:
    scene = scene_of(concurrency=1, drain=timedelta())
    measured(scene, 0.01)
    jobs = scene.enqueue(20)
    scene.worker.tick({scene.keys.wake})
    for _ in range(3):
        scene.bench.end(scene.bench.running[0])
    scene.worker.tick()

    scene.worker.stop()
    assert scene.worker.tick() is None

    assert scene.states(jobs) == [*["absent"] * 3, *["pending"] * 17]


def test_a_wake_that_comes_while_a_claim_is_on_its_way_is_followed(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 0.01)
    scene.enqueue(6)
    scene.worker.tick({scene.keys.wake})
    for _ in range(3):
        scene.bench.end(scene.bench.running[0])
    scene.worker.tick()
    assert eventually(lambda: scene.client.zcard(scene.keys.active) == 3)
    late = scene.enqueue(1)

    scene.worker.tick({scene.keys.wake})
    scene.worker.tick()

    assert scene.states(late) == ["active"]


def test_jobs_that_wait_too_long_go_back_to_their_place_and_count_no_attempt(
    scene_of: SceneOf,
) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 0.01)
    jobs = scene.enqueue(6)
    scene.worker.tick({scene.keys.wake})
    scene.client.delete(scene.keys.wake)

    scene.clock.pass_(0.051)
    scene.worker.tick()

    assert scene.states(jobs) == ["active", *["pending"] * 5]
    assert scene.client.llen(scene.keys.wake) == 5
    assert [facts["job"] for facts in scene.tale.of(Event.RELEASED)] == jobs[1:]
    (next_,) = scene.queue.claim_many(timedelta(minutes=1), 1, "other")
    assert (next_.job_id, next_.attempt, next_.token) == (jobs[1], 1, 2)


def test_after_jobs_had_to_be_given_back_nothing_is_claimed_ahead_until_it_is_measured_anew(
    scene_of: SceneOf,
) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 0.01)
    scene.enqueue(6)
    scene.worker.tick({scene.keys.wake})
    scene.clock.pass_(0.051)
    scene.worker.tick()

    scene.bench.end_all()
    scene.worker.tick({scene.keys.wake})

    assert scene.worker.running == 1
    assert scene.bench.waiting == []


def test_a_worker_that_is_stopped_gives_back_at_once_what_waits_in_it(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 0.01)
    jobs = scene.enqueue(6)
    scene.worker.tick({scene.keys.wake})

    scene.worker.stop()
    scene.worker.tick()

    assert scene.states(jobs) == ["active", *["pending"] * 5]
    assert scene.worker.running == 1


def test_jobs_that_wait_in_the_worker_are_renewed_as_those_that_run(
    scene_of: SceneOf, proxy: CuttingProxy
) -> None:
    scene = scene_of(concurrency=1, lease=timedelta(seconds=0.06))
    measured(scene, 0.01)
    scene.enqueue(6)
    scene.worker.tick({scene.keys.wake})

    scene.clock.pass_(0.03)
    scene.tick()

    (renewal,) = [words for words in proxy.commands if runs("extend_many")(words)][-1:]
    assert sum(word.startswith(b"JOB") for word in renewal) == 6


def test_a_job_that_waited_and_was_lost_meanwhile_is_not_given_back(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=1)
    measured(scene, 0.01)
    jobs = scene.enqueue(3)
    scene.worker.tick({scene.keys.wake})
    scene.bench.waiting[0].lost.set()

    scene.clock.pass_(0.051)
    scene.worker.tick()

    assert scene.states(jobs) == ["active", "active", "pending"]


class Stalling:
    """Jobs that end at once, but for those that are told to wait until the gate is opened."""

    def __init__(self) -> None:
        self.started: SimpleQueue[str] = SimpleQueue()
        self.slow: set[str] = set()
        self.gate = threading.Event()

    def __call__(self, held: Held) -> Outcome:
        self.started.put(held.lease.job_id)
        if held.lease.job_id in self.slow:
            self.gate.wait(30)
        return Completed()


def test_jobs_that_wait_behind_a_long_one_are_started_by_another_worker_while_it_runs(
    engine_server: Server,
) -> None:
    queue, jobs = Queue(Wire(engine_server.client()), "q"), Stalling()
    with (
        serving(engine_server.client(), "q", run=jobs, concurrency=1) as one,
        serving(engine_server.client(), "q", run=jobs, concurrency=1) as other,
    ):
        for _ in range(STALLS):
            ids = MINTER.mint_many(41)
            jobs.slow, jobs.gate = {ids[20]}, threading.Event()
            queue.enqueue_many([(one, new_payload()) for one in ids])
            assert {jobs.started.get(timeout=10) for _ in ids} == set(ids)
            jobs.gate.set()
            eventually(lambda: queue.facts().counts.active == 0)

    assert one.of(Event.RELEASED) or other.of(Event.RELEASED)
    assert not one.of(Event.LEASE_LOST) + other.of(Event.LEASE_LOST)


def test_a_burst_does_not_leave_behind_what_it_gave_back(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=1, burst=True)
    scene.bench.size = 1
    jobs = scene.enqueue(FEWEST_RUNS + 3)
    while not scene.bench.waiting:
        scene.worker.tick()
        scene.clock.pass_(0.01)
        scene.bench.end_all()
    scene.clock.pass_(WINDOW_S)
    scene.worker.tick()
    given_back = scene.tale.of(Event.RELEASED)

    ticks = 0
    while scene.worker.tick() is not None:
        scene.bench.end_all()
        ticks += 1
        assert ticks < 20

    assert given_back
    assert scene.queue.facts().counts.completed == len(jobs)
