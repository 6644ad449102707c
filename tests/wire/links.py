"""Wires for tests, blocking and awaited, and what happens between two of their sendings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from echomq_app.protocol.calls import Call
from echomq_app.protocol.script import every_verb, script
from echomq_app.wire.aio import AsyncWire
from echomq_app.wire.exchange import Answer, Bus
from echomq_app.wire.link import Wire
from tests.servers.server import Server
from tests.servers.traps import Predicate, Words


class Gap:
    """The time between two sendings: calls ``meanwhile`` in the first, waits in none."""

    def __init__(self, meanwhile: Callable[[], object] | None = None) -> None:
        self.meanwhile = meanwhile
        self.pauses: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if self.meanwhile is not None and len(self.pauses) == 1:
            self.meanwhile()

    async def awaited(self, seconds: float) -> None:
        """The same for asyncio."""
        self(seconds)


class AwaitedWire(Wire):
    """An ``AsyncWire`` on an event loop of its own, so that one test drives both links."""

    def __init__(
        self, client: Redis | RedisCluster, bus: Bus | None = None, *, gap: Gap | None = None
    ) -> None:
        self.bus = bus or Bus()
        self._loop = asyncio.Runner()
        sleep = gap.awaited if gap else asyncio.sleep
        self.link = AsyncWire(client, self.bus, sleep=sleep)

    def ask(self, call: Call[Any]) -> Answer[Any]:
        """Await the one answer."""
        return self.answer((call,))[0]

    def answer(self, calls: Sequence[Call[Any]]) -> list[Answer[Any]]:
        """Await the answers."""
        return self._loop.run(self.link.answer(calls))

    def wait_for(self, coroutine: Coroutine[Any, Any, object]) -> object:
        """Run something else on the wire's own loop."""
        return self._loop.run(coroutine)

    def close(self) -> None:
        """Close connections and loop."""
        self.wait_for(self.link.client.aclose())
        self._loop.close()


def runs(verb: str) -> Predicate:
    """Match the EVALSHA of a verb's script."""
    sha = script(verb).sha.encode()
    return lambda words: is_run(words, sha)


def is_run(words: Words, sha: bytes) -> bool:
    return words[0].upper() == b"EVALSHA" and words[1] == sha


def load_all(server: Server) -> None:
    """Load every script, so that the next EVALSHA of each is its one round trip."""
    for verb in every_verb():
        server.ask("SCRIPT", "LOAD", script(verb).text)
