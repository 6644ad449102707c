"""A worker on a real server whose clock, executor and report are the test's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from datetime import timedelta
from typing import Any

import redis
from redis.cluster import RedisCluster

from echomq_app.protocol import payload
from echomq_app.protocol.ids import JobId, Minter
from echomq_app.runtime.events import Event
from echomq_app.runtime.heartbeat import Heartbeat
from echomq_app.runtime.held import Held
from echomq_app.runtime.order import Order
from echomq_app.runtime.outcomes import Completed, Ended, Failed, Outcome
from echomq_app.runtime.talk import Executor
from echomq_app.runtime.worker import Worker, WorkerOptions
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire

Client = redis.Redis | RedisCluster
LEASE = timedelta(seconds=60)
PATIENCE_S = 0.05
MINTER = Minter()


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


class Bench:
    """An executor without threads: a job runs until the test says what came of it.

    Every job that fits into ``size`` has begun; the rest waits.
    """

    def __init__(self, clock: Clock, size: int = 1000) -> None:
        self.size = size
        self._clock = clock
        self.ring_after = 1
        self.call: Callable[[], None] = lambda: None
        self.running: list[Held] = []
        self.waiting: list[Held] = []
        self._ended: list[Ended] = []

    def submit(self, jobs: Iterable[Held]) -> None:
        self.waiting.extend(jobs)
        self._begin()

    def _begin(self) -> None:
        while self.waiting and len(self.running) < self.size:
            held = self.waiting.pop(0)
            held.started_at = self._clock()
            self.running.append(held)

    def finished(self) -> list[Ended]:
        ended, self._ended = self._ended, []
        return ended

    def take_back(self) -> list[Held]:
        taken, self.waiting = self.waiting, []
        return taken

    def end(self, held: Held, outcome: Outcome | None = None) -> None:
        """Let one job end; completed unless told otherwise."""
        self.running.remove(held)
        ran = self._clock() - (held.started_at or 0.0)
        self._ended.append(Ended(held, outcome or Completed(), ran))
        self._begin()

    def end_all(self) -> list[Held]:
        """Let every job that runs complete."""
        ended = list(self.running)
        for held in ended:
            self.end(held)
        return ended


class Tale:
    """Keeps what was told."""

    def __init__(self) -> None:
        self.told: list[tuple[Event, dict[str, object]]] = []

    def __call__(self, event: Event, /, **facts: object) -> None:
        self.told.append((event, facts))

    def of(self, event: Event) -> list[dict[str, object]]:
        """The facts of each time that ``event`` was told."""
        return [facts for told, facts in self.told if told is event]

    def events(self) -> list[Event]:
        return [event for event, _ in self.told]


class Scene:
    """Queues seen directly, and a worker over a wire of its own."""

    def __init__(
        self,
        direct: Client,
        worker_client: Client,
        *names: str,
        patience_s: float = PATIENCE_S,
        **options: Any,
    ) -> None:
        names = names or ("q",)
        self.client = direct
        self.queues = [Queue(Wire(direct), name) for name in names]
        self.queue = self.queues[0]
        self.keys = self.queue.keys
        self.clock = Clock()
        self.bench = Bench(self.clock)
        self.tale = Tale()
        self.wire = Wire(worker_client, Bus(patience_s=patience_s))
        self.worker = self.new_worker(**options)

    def new_worker(
        self,
        executor: Executor | None = None,
        now: Callable[[], float] | None = None,
        order: Order | None = None,
        **options: Any,
    ) -> Worker:
        """A worker on the scene's queues and wire; on its bench and its clock unless told otherwise."""
        return Worker(
            self.wire,
            [Queue(self.wire, queue.name) for queue in self.queues],
            executor or self.bench,
            WorkerOptions(**{"lease": LEASE, **options}),
            report=self.tale,
            now=now or self.clock,
            order=order,
        )

    def tick(self, woken: Set[str] = frozenset()) -> float | None:
        """The heartbeat's tick, then the worker's."""
        worker = self.worker
        queues = {queue.name: queue.keys for queue in self.queues}
        Heartbeat(self.wire, queues, worker.leases, self.clock).tick()
        return worker.tick(woken)

    def enqueue(self, count: int = 1, queue: Queue | None = None) -> list[JobId]:
        """New jobs that wait, oldest first."""
        jobs = [(job_id, new_payload()) for job_id in MINTER.mint_many(count)]
        (queue or self.queue).enqueue_many(jobs)
        return [job_id for job_id, _ in jobs]

    def lapse(self, job_id: str, queue: Queue | None = None) -> None:
        """Let the lease of an active job be over on the server, as its clock will."""
        active = (queue or self.queue).keys.active
        self.client.zadd(active, {job_id: 1}, xx=True)

    def states(self, job_ids: Sequence[str]) -> list[str]:
        return [self.queue.state(job_id).value for job_id in job_ids]

    @property
    def ran(self) -> list[str]:
        """The ids of the jobs that run now."""
        return [held.lease.job_id for held in self.bench.running]


def new_payload() -> bytes:
    """A payload that no other job carries."""
    return payload.encode(payload.TaskPayload(task="tests.task"))


def failed(delay: timedelta = timedelta(), most: int = 5) -> Failed:
    """It raised."""
    return Failed(error="ValueError: no", report=None, delay=delay, max_attempts=most)
