"""What concerns all queues of one server: which there are, node ids, what the server is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from echomq_app.protocol import calls, replies
from echomq_app.protocol.errors import EchoMQError, ServerTooOld
from echomq_app.protocol.keyspace import VERSION, QueueKeys
from echomq_app.service import plans, stale
from echomq_app.service.records import QueueFacts
from echomq_app.wire.link import Wire

OLDEST_REDIS: Final = (7, 0)
OLDEST_VALKEY: Final = (8, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What a server says of itself. ``maxmemory_policy`` is ``None`` where it does not tell."""

    engine: str
    version: str
    maxmemory_policy: str | None

    @property
    def may_evict(self) -> bool:
        """Whether a full server throws jobs away instead of refusing new ones."""
        return self.maxmemory_policy not in (None, "noeviction")


class ServerBus:
    """The verbs that no single queue owns."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def known_queues(self) -> list[str]:
        """The queues that our producers and workers have used, sorted."""
        return self.wire.follow(plans.known_queues())

    def facts_of(self, names: Sequence[str]) -> list[QueueFacts | EchoMQError]:
        """The numbers of many queues in one pipeline; a queue's failure stands in its place."""
        found: list[QueueFacts | EchoMQError] = []
        asked = [calls.counts(QueueKeys(name)) for name in names]
        for name, answer in zip(names, self.wire.answer(asked), strict=True):
            found.append(answer.error or QueueFacts(name=name, counts=answer.unwrap()))
        return found

    def stale_of(self, names: Sequence[str]) -> list[int | EchoMQError]:
        """How many outcomes of each queue were refused as stale, in one pipeline."""
        asked = [stale.count(QueueKeys(name)) for name in names]
        return [one.error or one.unwrap() for one in self.wire.answer(asked)]

    def join(self, queue: str) -> bool:
        """List a queue as used; ``False`` when the server refused, which stops nothing."""
        try:
            self.wire.follow(plans.join_bus(queue))
        except EchoMQError:
            return False
        return True

    def next_node(self) -> int:
        """A node id for minting, 0 to 1023, in turn."""
        return self.wire.follow(plans.next_node())

    def server(self) -> ServerFacts:
        """Engine, version and eviction policy of the server."""
        call = calls.command(VERSION, "INFO", "everything", read=read_server_facts)
        return self.wire.run(call)

    def check_server(self) -> ServerFacts:
        """The server's facts; ``ServerTooOld`` when it lacks what the scripts need."""
        facts = self.server()
        oldest = OLDEST_VALKEY if facts.engine == "Valkey" else OLDEST_REDIS
        if _numbers(facts.version) < oldest:
            wanted = ".".join(map(str, oldest))
            raise ServerTooOld(
                f"EchoMQ needs Redis 7.0 or Valkey 8.0 and newer; this is {facts.engine} {facts.version}: "
                f"upgrade it to {facts.engine} {wanted} or newer, or point ECHOMQ['CONNECTION'] elsewhere"
            )
        return facts


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def read_server_facts(raw: Any) -> ServerFacts:
    """Engine, version and eviction policy from an INFO text."""
    lines = replies.text(raw).splitlines()
    told = dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))
    valkey = told.get("valkey_version")
    return ServerFacts(
        engine="Valkey" if valkey else "Redis",
        version=valkey or told.get("redis_version", "0"),
        maxmemory_policy=told.get("maxmemory_policy"),
    )
