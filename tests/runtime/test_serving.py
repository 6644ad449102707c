"""The worker's whole loop: how soon it picks up, what it costs when idle, whom it leaves tokens to."""

from __future__ import annotations

import statistics
import threading
import time
from datetime import timedelta
from queue import SimpleQueue

import pytest

from echomq_app.runtime.events import Event
from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Completed, Outcome
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.eventually import eventually, stays
from tests.runtime.scene import MINTER, new_payload
from tests.runtime.serving import serving
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.servers.sentinel import Sentinel
from tests.servers.server import Server
from tests.wire.links import load_all

PICKUPS = 50
LONG_BEAT = timedelta(seconds=20)


class Starts:
    """Notes when each job starts; jobs end at once."""

    def __init__(self) -> None:
        self.seen: SimpleQueue[tuple[str, float]] = SimpleQueue()

    def __call__(self, held: Held) -> Outcome:
        self.seen.put((held.lease.job_id, time.perf_counter()))
        return Completed()

    def next(self, within: float = 10.0) -> tuple[str, float]:
        return self.seen.get(timeout=within)


class Gate:
    """Jobs that run until the gate is opened."""

    def __init__(self) -> None:
        self.entered: SimpleQueue[str] = SimpleQueue()
        self._open = threading.Event()

    def __call__(self, held: Held) -> Outcome:
        self.entered.put(held.lease.queue)
        self._open.wait(30)
        return Completed()

    def open(self) -> None:
        self._open.set()


def enqueue(queue: Queue) -> str:
    job_id = MINTER.mint()
    queue.enqueue(job_id, new_payload())
    return job_id


def blocked(server: Server) -> int:
    return int(server.admin.info("clients")["blocked_clients"])


class BareWaiter:
    """The least that a pickup can be: a BLPOP that wakes, one round trip, a job for a thread."""

    def __init__(self, server: Server, wake: str) -> None:
        self.started: SimpleQueue[float] = SimpleQueue()
        self._handed: SimpleQueue[None] = SimpleQueue()
        self._client = server.client(socket_timeout=None)
        self._wake = wake
        for act in (self._wait, self._run):
            threading.Thread(target=act, daemon=True).start()

    def _wait(self) -> None:
        for _ in range(PICKUPS):
            self._client.blpop([self._wake])
            self._client.ping()
            self._handed.put(None)

    def _run(self) -> None:
        for _ in range(PICKUPS):
            self._handed.get()
            self.started.put(time.perf_counter())


def test_an_idle_worker_picks_up_a_job_about_as_soon_as_a_bare_blocking_read(
    engine_server: Server,
) -> None:
    direct = Wire(engine_server.client())
    queue, bare = Queue(direct, "q"), Queue(direct, "bare")
    starts, waiter = Starts(), BareWaiter(engine_server, bare.keys.wake)
    took: list[float] = []
    least: list[float] = []

    with serving(engine_server.client(), "q", run=starts, beat=LONG_BEAT):
        for _ in range(PICKUPS):
            eventually(lambda: blocked(engine_server) == 2, every=0.001)
            began = time.perf_counter()
            enqueue(bare)
            least.append(waiter.started.get(timeout=10) - began)
            eventually(lambda: blocked(engine_server) >= 1, every=0.001)
            began = time.perf_counter()
            enqueue(queue)
            took.append(starts.next()[1] - began)

    assert statistics.median(took) < 4 * statistics.median(least)


@pytest.mark.parametrize(
    ("names", "beat", "beats"),
    [(["a"], timedelta(seconds=0.25), 10), (["a", "b", "c"], timedelta(seconds=1), 5)],
)
def test_an_idle_worker_sends_at_most_two_commands_a_queue_and_beat(
    engine_server: Server, proxy: CuttingProxy, names: list[str], beat: timedelta, beats: int
) -> None:
    load_all(engine_server)
    with serving(proxy.client(), *names, beat=beat):
        eventually(lambda: len(proxy.commands) > 2 * len(names))
        proxy.reset()
        began = time.monotonic()
        eventually(
            lambda: time.monotonic() - began > beats * beat.total_seconds(), within=30, every=0.05
        )
        sent = len(proxy.commands)

    assert beats - 1 <= sent <= 2 * len(names) * (beats + 1)


def test_a_job_of_a_producer_that_wakes_nobody_is_found_on_the_beat(engine_server: Server) -> None:
    client, starts = engine_server.client(), Starts()
    queue = Queue(Wire(client), "q")
    with serving(engine_server.client(), "q", run=starts, beat=timedelta(seconds=0.2)):
        eventually(lambda: blocked(engine_server) == 1)
        job_id = MINTER.mint()
        row = {"state": "pending", "attempts": 0, "payload": new_payload()}
        client.hset(queue.keys.row(job_id), mapping=row)  # type: ignore[arg-type]  # the stub is invariant
        client.zadd(queue.keys.pending, {job_id: 0})

        assert starts.next(within=5)[0] == job_id


def test_a_scheduled_job_runs_when_it_is_due_and_not_a_beat_later(engine_server: Server) -> None:
    queue, starts = Queue(Wire(engine_server.client()), "q"), Starts()
    job_id = MINTER.mint()
    queue.schedule_in(job_id, new_payload(), timedelta(seconds=0.5))
    began = time.perf_counter()

    with serving(engine_server.client(), "q", run=starts, beat=LONG_BEAT):
        _, at = starts.next()

    assert 0.45 < at - began < 5


def test_a_worker_that_has_nothing_to_do_after_a_job_rests(engine_server: Server) -> None:
    starts, looks = Starts(), [0]

    def now() -> float:
        looks[0] += 1
        return time.monotonic()

    with serving(engine_server.client(), "q", run=starts, now=now, beat=LONG_BEAT) as tale:
        enqueue(Queue(Wire(engine_server.client()), "q"))
        eventually(lambda: tale.of(Event.COMPLETED))
        eventually(lambda: blocked(engine_server) == 1)
        looks[0] = 0
        stays(lambda: looks[0] < 20, for_=0.2)


def test_a_paused_queue_idles_and_resumes_at_once(engine_server: Server) -> None:
    queue, starts = Queue(Wire(engine_server.client()), "q"), Starts()
    queue.pause()
    with serving(engine_server.client(), "q", run=starts, beat=LONG_BEAT):
        job_id = enqueue(queue)
        eventually(lambda: queue.wire.client.llen(queue.keys.wake) == 0)
        eventually(lambda: blocked(engine_server) == 1)
        stays(starts.seen.empty, for_=0.1)

        queue.resume()

        assert starts.next(within=5)[0] == job_id


def test_a_token_that_reaches_a_full_worker_is_handed_on_to_an_idle_one(cluster: Cluster) -> None:
    mine, shared = "a", "b"
    node = cluster.owner(cluster.slot("emq:{b}:wake"))
    assert node is not cluster.owner(cluster.slot("emq:{a}:wake"))
    direct, gate, starts = Wire(cluster.client()), Gate(), Starts()
    with serving(cluster.client(), mine, shared, run=gate, concurrency=1, beat=LONG_BEAT):
        eventually(lambda: blocked(node) == 1)
        enqueue(Queue(direct, mine))
        assert gate.entered.get(timeout=10) == mine

        with serving(cluster.client(), shared, run=starts, beat=LONG_BEAT):
            eventually(lambda: blocked(node) == 2)
            job_id = enqueue(Queue(direct, shared))
            assert starts.next(within=5)[0] == job_id
        gate.open()


def test_two_workers_share_a_queue_and_run_each_job_once(engine_server: Server) -> None:
    queue, starts = Queue(Wire(engine_server.client()), "q"), Starts()
    jobs = [(job_id, new_payload()) for job_id in MINTER.mint_many(300)]
    with (
        serving(engine_server.client(), "q", run=starts) as one,
        serving(engine_server.client(), "q", run=starts) as other,
    ):
        for start in range(0, 300, 10):
            queue.enqueue_many(jobs[start : start + 10])
        ran = [starts.next()[0] for _ in jobs]

    assert sorted(ran) == sorted(job_id for job_id, _ in jobs)
    counts = queue.facts().counts
    assert (counts.completed, counts.pending, counts.active) == (300, 0, 0)
    assert one.of(Event.COMPLETED)
    assert other.of(Event.COMPLETED)


def test_a_worker_goes_on_when_its_server_was_killed_and_started_again(
    fresh_server: Server,
) -> None:
    starts = Starts()
    with serving(fresh_server.client(), "q", run=starts, beat=timedelta(seconds=0.2)) as tale:
        enqueue(Queue(Wire(fresh_server.client()), "q"))
        starts.next()
        fresh_server.kill()
        eventually(lambda: tale.of(Event.SERVER_AWAY))
        fresh_server.start()
        job_id = enqueue(Queue(Wire(fresh_server.client()), "q"))

        assert starts.next()[0] == job_id
        eventually(lambda: tale.of(Event.SERVER_BACK))

    assert tale.events().count(Event.SERVER_AWAY) == 1


def test_a_worker_that_serves_leaves_no_thread_and_no_connection_behind(
    engine_server: Server,
) -> None:
    before, clients = set(threading.enumerate()), Queue(Wire(engine_server.client()), "q")
    with serving(engine_server.client(), "q", concurrency=8):
        eventually(lambda: blocked(engine_server) == 1)
        enqueue(clients)

    eventually(lambda: set(threading.enumerate()) <= before)
    eventually(lambda: blocked(engine_server) == 0)


def test_a_worker_follows_its_service_to_a_new_master(sentinel: Sentinel) -> None:
    starts = Starts()
    client = sentinel.client(socket_timeout=1)
    with serving(client, "q", run=starts, beat=timedelta(seconds=0.2)) as tale:
        enqueue(Queue(Wire(sentinel.client()), "q"))
        starts.next()
        eventually(lambda: tale.of(Event.COMPLETED))
        sentinel.master.ask("WAIT", 1, 5000)
        sentinel.master.kill()
        patient = Wire(sentinel.client(socket_timeout=1), Bus(patience_s=30))
        job_id = enqueue(Queue(patient, "q"))

        assert starts.next(within=30)[0] == job_id
        eventually(lambda: tale.of(Event.COMPLETED)[1:], within=30)
