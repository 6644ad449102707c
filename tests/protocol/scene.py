"""One queue on a real server, with what a test wants to do to it and see of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import redis
from redis.cluster import RedisCluster

from echomq_app.protocol.calls import Call
from echomq_app.protocol.ids import JobId, Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.service.lanes import Lanes
from echomq_app.service.queue import Queue
from echomq_app.service.records import Lease
from echomq_app.service.streams import Stream
from echomq_app.wire.link import Wire

T = TypeVar("T")
Client = redis.Redis | RedisCluster
LONG = timedelta(minutes=10)
SETS = ("pending", "active", "schedule", "dead", "high", "low")
_MINTER = Minter(node=7)


def new_id() -> JobId:
    """An id that no other test has."""
    return _MINTER.mint()


@dataclass
class Scene:
    """A queue and the raw client beside it, which answers bytes and never retries."""

    client: Any
    name: str = "q"
    keys: QueueKeys = field(init=False)
    queue: Queue = field(init=False)
    lanes: Lanes = field(init=False)
    wire: Wire = field(init=False)

    def __post_init__(self) -> None:
        self.keys = QueueKeys(self.name)
        self.wire = Wire(self.client)
        self.queue = Queue(self.wire, self.name)
        self.lanes = Lanes(self.wire, self.name)

    def run(self, call: Call[T]) -> T:
        return self.wire.run(call)

    def key(self, kind: str) -> str:
        return self.keys.base + kind

    def enqueue(self, payload: bytes = b"w", job_id: str | None = None) -> JobId:
        """A waiting job."""
        admitted = JobId(job_id or new_id())
        self.queue.enqueue(admitted, payload)
        return admitted

    def claim(self, label: str = "") -> Lease:
        """The oldest waiting job, held for ten minutes."""
        (held,) = self.queue.claim_many(LONG, 1, label)
        return held

    def held(self, payload: bytes = b"w", label: str = "") -> Lease:
        """A new job, held."""
        self.enqueue(payload)
        return self.claim(label)

    def dead(self, error: str = "boom") -> JobId:
        """A new job that had its only attempt."""
        held = self.held()
        self.queue.retry(held, delay=timedelta(), max_attempts=1, error=error)
        return held.job_id

    def lapse(self, *job_ids: str) -> None:
        """Let leases end: their deadlines are long ago."""
        for job_id in job_ids:
            self.client.zadd(self.keys.active, {job_id: 1}, xx=True)

    def fall_due(self, *job_ids: str) -> None:
        """Let parked jobs be due: their instants are long ago."""
        for job_id in job_ids:
            self.client.zadd(self.keys.schedule, {job_id: 1}, xx=True)

    def reaped(self, held: Lease) -> Lease:
        """The same claim after its lease lapsed and the job went back."""
        self.lapse(held.job_id)
        assert self.queue.reap() == 1
        return held

    def stream(self, name: str = "log") -> Stream:
        """A stream beside the queue."""
        return Stream(self.wire, self.name, name, _MINTER)

    def row(self, job_id: str) -> dict[str, str]:
        """The job's row as text; empty when there is none."""
        return text_of(self.client.hgetall(self.keys.row(job_id)))

    def fields(self, job_id: str, *names: str) -> list[str | None]:
        """Some fields of the row."""
        row = self.row(job_id)
        return [row.get(name) for name in names]

    def members(self, kind: str) -> list[str]:
        """The members of a set of the queue, in its order."""
        return [member.decode() for member in self.client.zrange(self.key(kind), 0, -1)]

    def places(self, job_id: str) -> list[str]:
        """Every set of the queue that holds the job, its lane among them."""
        group = self.row(job_id).get("group")
        kinds = [*SETS, f"g:{group}:pending"] if group else list(SETS)
        return [kind for kind in kinds if self.client.zscore(self.key(kind), job_id) is not None]

    def score(self, kind: str, job_id: str) -> float | None:
        found: float | None = self.client.zscore(self.key(kind), job_id)
        return found

    def wakes(self) -> int:
        """How many wake tokens wait."""
        return int(self.client.llen(self.keys.wake))

    def server_ms(self) -> int:
        """The server's clock."""
        seconds, micros = self.client.eval("return redis.call('TIME')", 1, self.keys.base)
        return int(seconds) * 1000 + int(micros) // 1000

    def snapshot(self) -> dict[str, Any]:
        """Everything that the server holds but the fence."""
        return snapshot(self.client)


def text_of(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    return {name.decode(): value.decode("utf-8", "replace") for name, value in fields.items()}


def words_of(fields: Mapping[bytes, bytes]) -> list[str]:
    """Names and values in turn, as the server keeps them."""
    return [word.decode() for pair in fields.items() for word in pair]


def snapshot(client: Any) -> dict[str, Any]:
    """Every key but the fence, its type and its whole value; the expiry of a key as yes or no."""
    found = {}
    for key in sorted(set(_keys(client))):
        if key != b"{emq}:version":
            kind = client.type(key).decode()
            expires = client.pttl(key) > 0
            found[key.decode()] = (kind, _value(client, kind, key), expires)
    return found


def _keys(client: Any) -> Iterator[bytes]:
    yield from client.scan_iter(count=1000)


def _value(client: Any, kind: str, key: bytes) -> Any:
    if kind == "hash":
        return text_of(client.hgetall(key))
    if kind == "zset":
        return [
            (member.decode(), score) for member, score in client.zrange(key, 0, -1, withscores=True)
        ]
    if kind == "list":
        return [item.decode() for item in client.lrange(key, 0, -1)]
    if kind == "set":
        return sorted(item.decode() for item in client.smembers(key))
    if kind == "string":
        return client.get(key).decode()
    if kind == "stream":
        return [[entry.decode(), words_of(fields)] for entry, fields in client.xrange(key)]
    raise AssertionError(f"{key!r} is a {kind}, which the protocol does not use")
