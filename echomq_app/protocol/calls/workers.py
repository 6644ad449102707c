"""How workers make themselves known, and hear what an operator wishes: plain commands on the reserve.

All of these keys share one slot, so they go in one pipeline on a cluster too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call, command, whole
from echomq_app.protocol.keyspace import WORKERS, wish_key, worker_key
from echomq_app.protocol.states import Wish


def worker_tell(name: str, facts: bytes, keep_ms: int) -> Call[None]:
    """What a worker says of itself, for so long."""
    key, span = worker_key(name), whole("keep_ms", keep_ms, 1)
    return command(key, "SET", key, facts, "PX", span, read=replies.nothing)


def worker_join(name: str) -> Call[int]:
    """List a worker."""
    return command(WORKERS, "SADD", WORKERS, name, read=replies.number)


def worker_strike(names: Sequence[str]) -> Call[int]:
    """List workers no more."""
    return command(WORKERS, "SREM", WORKERS, *names, read=replies.number)


def worker_forget(names: Sequence[str]) -> Call[int]:
    """Forget what workers said, and what was wished of them."""
    keys = [key for name in names for key in (worker_key(name), wish_key(name))]
    return command(WORKERS, "UNLINK", *keys, read=replies.number)


def worker_names() -> Call[list[str]]:
    """The workers that are listed; those that ended without a word among them."""
    return command(WORKERS, "SMEMBERS", WORKERS, read=replies.names)


def worker_facts(names: Sequence[str]) -> Call[list[bytes | None]]:
    """What each of these workers said last; ``None`` when that is too long ago."""
    return command(WORKERS, "MGET", *map(worker_key, names), read=replies.values)


def worker_left(name: str) -> Call[int]:
    """For how many ms what a worker said is kept; below zero when it is not."""
    key = worker_key(name)
    return command(key, "PTTL", key, read=replies.number)


def wishes(names: Sequence[str]) -> Call[list[Wish | None]]:
    """What is wished of each of these workers."""
    return command(WORKERS, "MGET", *map(wish_key, names), read=_wishes)


def wish(name: str, wanted: Wish, keep_ms: int, *, unless_wished: bool = False) -> Call[None]:
    """Wish something of a worker, which hears it when it tells of itself; forgotten after a time."""
    key, words = wish_key(name), ("NX",) if unless_wished else ()
    span = whole("keep_ms", keep_ms, 1)
    return command(key, "SET", key, wanted.value, "PX", span, *words, read=replies.nothing)


def wish_drop(names: Sequence[str]) -> Call[int]:
    """Wish nothing of these workers any more."""
    return command(WORKERS, "UNLINK", *map(wish_key, names), read=replies.number)


def _wishes(raw: Any) -> list[Wish | None]:
    """Words that we do not know are no wishes of ours."""
    known = {one.value.encode(): one for one in Wish}
    return [known.get(value or b"") for value in replies.values(raw)]
