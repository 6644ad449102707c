"""The limit: this project's scripts, packed beforehand, over a bare socket.

The drain settles and claims in one round trip, as many jobs as it has slots, and runs each inline.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

from hiredis import Reader, pack_command

from benchmarks import place, tally
from benchmarks.contender import Feed
from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call, Retention
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.replies import Claimed
from echomq_app.protocol.script import script
from echomq_app.wire.exchange import as_command

KEYS: Final = QueueKeys("default")
LEASE_MS: Final = 60_000
KEPT: Final = Retention(
    mark="0" * 16, receipt_ms=120_000, outcome=b"x" * 300, result_ms=3_600_000, limit=10_000
)
"""What the worker of this project leaves by default, with an outcome of a no-op job's usual length."""


class Socket:
    """A blocking socket and a parser, nothing else."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(place.socket_path())
        self._reader = Reader()
        self.send = self._socket.sendall

    def reply(self) -> Any:
        """The next reply; the server's error is raised."""
        while (found := self._reader.gets()) is False:
            self._reader.feed(self._socket.recv(65536))
        if isinstance(found, Exception):
            raise found
        return found


@cache
def _socket() -> Socket:
    found = Socket()
    for verb in ("enqueue", "enqueue_many", "claim_many", "complete_keep"):
        found.send(pack_command(("SCRIPT", "LOAD", script(verb).text)))  # type: ignore[arg-type]  # its stub has one word
        found.reply()
    return found


@cache
def _minter() -> Minter:
    return Minter()


def _packed(call: Call[Any]) -> bytes:
    packed: bytes = pack_command(as_command(call))  # type: ignore[arg-type]  # its stub has one word
    return packed


def _pack(payloads: Sequence[str]) -> list[bytes]:
    ids = _minter().mint_many(len(payloads))
    return [
        _packed(calls.enqueue(KEYS, job_id, one.encode()))
        for job_id, one in zip(ids, payloads, strict=True)
    ]


def _pack_many(payloads: Sequence[str]) -> list[bytes]:
    ids = _minter().mint_many(len(payloads))
    jobs = [(job_id, one.encode()) for job_id, one in zip(ids, payloads, strict=True)]
    return [_packed(calls.enqueue_many(KEYS, jobs))]


def _converse(packed: Iterable[bytes]) -> None:
    wire = _socket()
    for one in packed:
        wire.send(one)
        wire.reply()


FEED = Feed(one_by_one=_converse, many=_converse, pack=_pack, pack_many=_pack_many)


def drain(slots: int) -> None:
    """Settle and claim in one round trip, for ever; a claim that finds nothing waits for a wake."""
    wire = _socket()
    claim = calls.claim_many(KEYS, LEASE_MS, slots, "raw")
    packed_claim = _packed(claim)
    held: list[Claimed] = []
    while True:
        for one in held:
            tally.note(one.payload or b"")
        settles = [_packed(calls.complete(KEYS, j.job_id, j.token, "raw", KEPT)) for j in held]
        wire.send(b"".join(settles) + packed_claim)
        for _ in settles:
            wire.reply()
        held = claim.read(wire.reply())
        if not held:
            wire.send(pack_command(("BLPOP", KEYS.wake, "1")))  # type: ignore[arg-type]  # its stub has one word
            wire.reply()


if __name__ == "__main__":
    drain(int(sys.argv[1]))
