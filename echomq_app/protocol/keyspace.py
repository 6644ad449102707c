"""Every key of the protocol, spelled once (protocol section 2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from echomq_app.protocol.errors import InvalidInput, InvalidLane, InvalidQueueName
from echomq_app.protocol.ids import is_branded, valid_job_id

MAX_QUEUE_NAME_BYTES: Final = 128
MAX_STREAM_NAME_BYTES: Final = 128
WAKE_LIMIT: Final = 64

VERSION: Final = "{emq}:version"
NODES: Final = "{emq}:nodes"
QUEUES: Final = "{emq}:queues"
WORKERS: Final = "{emq}:workers"

_FORBIDDEN: Final = frozenset("{}\0")
_RESERVED: Final = "emq"
_ARCHIVED: Final = ":archived"


def valid_queue_name(name: object) -> str:
    """Return ``name`` if a queue may have it, else raise ``InvalidQueueName`` (decision 7)."""
    if not isinstance(name, str):
        raise InvalidQueueName(f"a queue name is text; got {type(name).__name__} {name!r:.60}")
    if not name:
        raise InvalidQueueName(
            "a queue name is not empty: an empty hash tag has no slot of its own"
        )
    if name == _RESERVED:
        raise InvalidQueueName("the queue name 'emq' is the protocol's own; choose another")
    if _FORBIDDEN.intersection(name):
        raise InvalidQueueName(f"a queue name holds no '{{', '}}' or NUL; got {name!r:.60}")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise InvalidQueueName(f"a queue name is valid UTF-8; got {name!r:.60}") from None
    if size > MAX_QUEUE_NAME_BYTES:
        raise InvalidQueueName(
            f"a queue name is at most {MAX_QUEUE_NAME_BYTES} bytes; got {size}: {name!r:.60}"
        )
    return name


def valid_stream_name(name: object) -> str:
    """Return ``name`` if a stream may have it, else raise ``InvalidInput``."""
    if not isinstance(name, str) or not name or "\0" in name or name.endswith(_ARCHIVED):
        raise InvalidInput(
            f"a stream's name is text, not empty, without NUL and not ending in {_ARCHIVED!r}; "
            f"got {name!r:.60}"
        )
    size = len(name.encode("utf-8", "surrogatepass"))
    if size > MAX_STREAM_NAME_BYTES:
        raise InvalidInput(
            f"a stream's name is at most {MAX_STREAM_NAME_BYTES} bytes; got {size}: {name!r:.60}"
        )
    return name


def valid_lane(name: object) -> str:
    """Return ``name`` if a lane may have it, else raise ``InvalidLane``: any branded id will do."""
    if not isinstance(name, str) or not is_branded(name):
        raise InvalidLane(
            "a lane is named by a branded id: three letters A-Z and eleven base62 digits, such as "
            f"the id of the customer whose jobs share it; got {name!r:.60}"
        )
    return name


def worker_key(name: str) -> str:
    """``{emq}:worker:<name>``: what a worker says of itself."""
    return f"{{emq}}:worker:{name}"


def wish_key(name: str) -> str:
    """``{emq}:wish:<name>``: what an operator wishes of a worker."""
    return f"{{emq}}:wish:{name}"


@dataclass(frozen=True, slots=True, init=False)
class QueueKeys:
    """The keys of one queue; all share the slot of ``{name}``."""

    name: str
    base: str
    pending: str
    active: str
    schedule: str
    dead: str
    meta: str
    wake: str
    done: str
    expire: str
    events: str
    ring: str
    paused: str
    """The lanes that are parked. The queue's own flag is a field of ``meta``."""
    groups: str
    glimit: str
    gweight: str
    repeat: str
    slots: str
    stale: str
    stale_counter: str
    outbox: str
    aside: str

    def __init__(self, name: str) -> None:
        base = "emq:{" + valid_queue_name(name) + "}:"
        put = object.__setattr__
        put(self, "name", name)
        put(self, "base", base)
        for kind in (
            "pending",
            "active",
            "schedule",
            "dead",
            "meta",
            "wake",
            "done",
            "expire",
            "events",
            "ring",
            "paused",
            "groups",
            "glimit",
            "gweight",
            "repeat",
            "slots",
            "stale",
        ):
            put(self, kind, base + kind)
        put(self, "stale_counter", base + "metrics:stale")
        put(self, "outbox", base + "flow:outbox")
        put(self, "aside", base + "flow:aside")

    def row(self, job_id: str) -> str:
        """``emq:{q}:job:<id>``; raises ``InvalidJobId`` before any wire."""
        return f"{self.base}job:{valid_job_id(job_id)}"

    def rows(self, job_ids: Iterable[str]) -> list[str]:
        """The row of each; raises ``InvalidJobId`` before any wire."""
        start = self.base + "job:"
        return [start + valid_job_id(job_id) for job_id in job_ids]

    def row_and_result(self, job_id: str) -> tuple[str, str]:
        """The row, and what an ended job leaves."""
        valid = valid_job_id(job_id)
        return f"{self.base}job:{valid}", f"{self.base}result:{valid}"

    def logs(self, job_id: str) -> str:
        return self.row(job_id) + ":logs"

    def errors(self, job_id: str) -> str:
        return self.row(job_id) + ":errors"

    def children(self, job_id: str, kind: str) -> str:
        """What a parent knows of its children: processed, failed, unsuccessful or dependencies."""
        return f"{self.row(job_id)}:{kind}"

    def result(self, job_id: str) -> str:
        return f"{self.base}result:{valid_job_id(job_id)}"

    def repeat_record(self, name: str) -> str:
        return f"{self.repeat}:{name}"

    def slot(self, name: str) -> str:
        return f"{self.base}slot:{name}"

    def dedup(self, did: str) -> str:
        return f"{self.base}de:{did}"

    def lane(self, group: str) -> str:
        """``emq:{q}:g:<group>:pending``; raises ``InvalidLane`` before any wire."""
        return f"{self.base}g:{valid_lane(group)}:pending"

    def stream(self, name: str) -> str:
        return f"{self.base}stream:{valid_stream_name(name)}"

    def archived(self, name: str) -> str:
        return self.stream(name) + _ARCHIVED


@lru_cache(maxsize=1024)
def keys_of(queue: str) -> QueueKeys:
    """The keys of a queue, built once for those that are used again and again."""
    return QueueKeys(queue)


def slot(key: str | bytes) -> int:
    """Cluster slot of a key: CRC16-XMODEM of its hash tag, mod 16384 (protocol 2.4)."""
    raw = key.encode() if isinstance(key, str) else key
    opened = raw.find(b"{")
    if opened >= 0:
        closed = raw.find(b"}", opened + 1)
        if closed > opened + 1:
            raw = raw[opened + 1 : closed]
    crc = 0
    for byte in raw:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021) & 0xFFFF if crc & 0x8000 else crc << 1
    return crc % 16384
