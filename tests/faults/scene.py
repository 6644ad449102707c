"""One queue seen twice: directly, and over a wire that loses what it is told to lose."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any, cast

import redis
from redis.cluster import RedisCluster

from echomq_app.protocol import payload
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.ids import JobId, Minter
from echomq_app.protocol.states import State
from echomq_app.service.lanes import Lanes
from echomq_app.service.queue import Queue, new_label
from echomq_app.service.records import Lease
from echomq_app.wire.link import Wire
from tests.eventually import eventually

NAME = "q"
LEASE = timedelta(minutes=1)
BRIEF = timedelta(milliseconds=1)
AT_ONCE = timedelta()
RECEIPT_MS = 60_000
LANE = "CUS00000000001"
OTHER_LANE = "CUS00000000002"


def new_payload() -> bytes:
    """A payload that no other job carries."""
    return payload.encode(payload.TaskPayload(task="tests.task"))


def receipt_of(held: Lease) -> Retention:
    """Leave a receipt, as the worker does."""
    return Retention(mark=payload.mark(held.payload), receipt_ms=RECEIPT_MS)


def outcome_of(held: Lease, limit: int = 100) -> Retention:
    """Leave an outcome, as the worker does for a task that returns something."""
    return Retention(
        mark=payload.mark(held.payload),
        receipt_ms=RECEIPT_MS,
        outcome=b'{"value":1}',
        result_ms=2 * RECEIPT_MS,
        limit=limit,
    )


class Hand:
    """A fast worker on a connection of its own: takes all that waits or is due, and finishes it."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.lanes = Lanes(queue.wire, queue.name)
        self.ran: Counter[JobId] = Counter()

    def clear(self) -> None:
        """Reap, promote, then run and complete until nothing can be claimed."""
        self.queue.reap()
        self.queue.promote()
        while claimed := self.queue.claim_many(LEASE, 10, new_label()) or self.lanes.claim(
            LEASE, 10, new_label()
        ):
            for held in claimed:
                self.ran[held.job_id] += 1
                self.queue.complete(held, receipt_of(held))

    def take(self) -> Lease:
        """Reap and promote, then hold the oldest job."""
        self.queue.reap()
        self.queue.promote()
        (held,) = self.queue.claim_many(LEASE, 1, new_label())
        return held


class Scene:
    """A queue with a direct face and a lossy one, and the jobs that a test puts on it."""

    def __init__(self, client: redis.Redis | RedisCluster, lossy: Wire) -> None:
        self.client = client
        self.direct = Queue(Wire(client), NAME)
        self.lossy = Queue(lossy, NAME)
        self.lanes = Lanes(self.direct.wire, NAME)
        self.lossy_lanes = Lanes(lossy, NAME)
        self.hand = Hand(self.direct)
        self.keys = self.direct.keys
        self.minter = Minter()
        self.payloads: dict[JobId, bytes] = {}

    def new_jobs(self, count: int) -> list[tuple[JobId, bytes]]:
        """Ids and payloads that are on no queue yet."""
        jobs = [(job_id, new_payload()) for job_id in self.minter.mint_many(count)]
        self.payloads.update(jobs)
        return jobs

    def new_job(self) -> tuple[JobId, bytes]:
        return self.new_jobs(1)[0]

    def waiting(self) -> JobId:
        """A job that waits."""
        job_id, raw = self.new_job()
        self.direct.enqueue(job_id, raw)
        return job_id

    def waiting_in_lane(self, lane: str = LANE) -> JobId:
        """A job that waits in a lane."""
        job_id, raw = self.new_job()
        self.lanes.enqueue(lane, job_id, raw)
        return job_id

    def parked_lane(self) -> JobId:
        """A job that waits in a lane which is parked."""
        self.lanes.pause(LANE)
        return self.waiting_in_lane()

    def lapsed_in_lane(self) -> Lease:
        """A job of a lane whose holder's lease is over."""
        self.waiting_in_lane()
        (held,) = self.lanes.claim(BRIEF, 1, new_label())
        eventually(lambda: self.has_lapsed(held.job_id), message="the lease's end")
        return held

    def held(self, lease_for: timedelta = LEASE) -> Lease:
        """A job that the caller holds."""
        self.waiting()
        (held,) = self.direct.claim_many(lease_for, 1, new_label())
        return held

    def lapsed(self) -> Lease:
        """A job whose holder's lease is over."""
        held = self.held(BRIEF)
        eventually(lambda: self.has_lapsed(held.job_id), message="the lease's end")
        return held

    def has_lapsed(self, job_id: str) -> bool:
        deadline = cast("float", self.client.zscore(self.keys.active, job_id))
        return self.server_ms() > deadline

    def server_ms(self) -> int:
        return self.direct.facts().counts.now_ms

    def due(self) -> JobId:
        """A scheduled job whose time has come."""
        job_id, raw = self.new_job()
        self.direct.schedule_in(job_id, raw, AT_ONCE)
        return job_id

    def dead(self) -> JobId:
        """A job that failed once and for all."""
        held = self.held()
        self.direct.retry(held, delay=AT_ONCE, max_attempts=1, error="boom")
        return held.job_id

    def expired_receipt(self) -> JobId:
        """A job that ended, whose receipt's time is over."""
        held = self.held()
        self.direct.complete(held, Retention(mark="m", receipt_ms=1))
        eventually(lambda: not self.client.exists(self.keys.result(held.job_id)))
        return held.job_id

    def state(self, job_id: str) -> State:
        return self.direct.state(job_id)

    def token(self, job_id: str) -> int:
        return int(cast("bytes", self.client.hget(self.keys.row(job_id), "attempts")))

    def holders(self, job_id: str) -> list[str]:
        """The sets that hold a job, the lanes of a scene among them."""
        lanes = (self.keys.lane(LANE), self.keys.lane(OTHER_LANE))
        sets = (self.keys.pending, self.keys.active, self.keys.schedule, self.keys.dead, *lanes)
        return [key for key in sets if self.client.zscore(key, job_id) is not None]

    def snapshot(self, *without_scores: str) -> dict[str, object]:
        """Every key of the server with its value; the sets named show their members alone."""
        keys = sorted(cast("list[bytes]", self.client.keys("*")))
        return {key.decode(): self._value(key.decode(), without_scores) for key in keys}

    def _value(self, key: str, without_scores: tuple[str, ...]) -> object:
        client: Any = self.client
        kind = client.type(key)
        if kind == b"hash":
            return client.hgetall(key)
        if kind == b"zset":
            return client.zrange(key, 0, -1, withscores=key not in without_scores)
        if kind == b"list":
            return client.lrange(key, 0, -1)
        return client.smembers(key) if kind == b"set" else client.get(key)
