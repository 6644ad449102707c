"""The seeds' producer and claimer, word for word: what another program says on our queues."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from echomq_app.protocol.keyspace import QueueKeys

FOLDER = Path(__file__).parent
ENQUEUE = (FOLDER / "seed_enqueue.lua").read_text()
CLAIM2 = (FOLDER / "seed_claim2.lua").read_text()


class Speaker(Protocol):
    """A redis-py client of one server, or of a cluster."""

    def eval(self, script: str, numkeys: int, *words: Any) -> Any: ...

    def hget(self, name: str, key: str) -> Any: ...


class SeedClaim(NamedTuple):
    """What the seed's claimer holds: no label, the token alone."""

    job_id: str
    payload: bytes | None
    token: int


def say(client: Speaker, script: str, keys: Sequence[str], args: Sequence[Any]) -> Any:
    """Run a foreign script; a refusal is redis-py's ``ResponseError``."""
    return client.eval(script, len(keys), *keys, *args)


def seed_enqueue(client: Speaker, queue: str, job_id: str, payload: bytes | str) -> int:
    """1 enqueued, 0 duplicate; ``ResponseError`` that starts with ``EMQKIND`` for another kind."""
    keys = QueueKeys(queue)
    return int(say(client, ENQUEUE, (keys.row(job_id), keys.pending), (job_id, payload)))


def seed_claim(client: Speaker, queue: str, lease_ms: int) -> SeedClaim | None:
    """The pause read, then ``@claim2``; ``None`` when paused, empty, or a ghost was consumed."""
    keys = QueueKeys(queue)
    if client.hget(keys.meta, "paused") is not None:
        return None
    return seed_claim2(client, queue, lease_ms)


def seed_claim2(client: Speaker, queue: str, lease_ms: int) -> SeedClaim | None:
    """``@claim2`` alone, as after a pause that came between its two round trips."""
    keys = QueueKeys(queue)
    reply = say(client, CLAIM2, (keys.pending, keys.active, keys.base), (lease_ms,))
    return SeedClaim(reply[0].decode(), reply[1], reply[2]) if reply else None
