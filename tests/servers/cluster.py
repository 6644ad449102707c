"""A cluster of three masters on loopback, and the steps of a slot's move."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Self

import redis.asyncio
import redis.asyncio.cluster
import redis.asyncio.retry
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.crc import key_slot
from redis.retry import Retry

from tests.eventually import eventually
from tests.servers.engines import Engine
from tests.servers.running import Running
from tests.servers.server import BUS, LOOPBACK, Server, free_port

SLOTS = 16384
CLUSTERED = (
    *("--cluster-enabled", "yes"),
    *("--cluster-config-file", "nodes.conf"),
    *("--cluster-node-timeout", "2000"),
    *("--repl-diskless-sync-delay", "0"),
)


class Cluster(Running):
    """Three masters of ``engine``, each with a third of the slots; a context manager."""

    def __init__(self, engine: Engine, *options: str) -> None:
        self.engine = engine
        self.options = options
        self.nodes: list[Server] = []
        self._ids: dict[int, str] = {}
        self._moving: dict[int, tuple[Server, Server]] = {}
        self._open = ExitStack()

    @property
    def url(self) -> str:
        """``redis+cluster://host:port,host:port,host:port``."""
        return "redis+cluster://" + ",".join(f"{LOOPBACK}:{node.port}" for node in self.nodes)

    def client(self, **options: Any) -> RedisCluster:
        """A cluster client that follows redirections and retries nothing else."""
        options = {"retry": Retry(NoBackoff(), 0)} | options
        startup = [ClusterNode(*node.address) for node in self.nodes]
        return RedisCluster(startup_nodes=startup, **options)

    def async_client(self, **options: Any) -> redis.asyncio.RedisCluster:
        """The same for asyncio."""
        options = {"retry": redis.asyncio.retry.Retry(NoBackoff(), 0)} | options
        startup = [redis.asyncio.cluster.ClusterNode(*node.address) for node in self.nodes]
        return redis.asyncio.RedisCluster(startup_nodes=startup, **options)

    def start(self) -> Self:
        """Start the masters and wait until each of them says that all slots are served."""
        self.nodes = [
            self._open.enter_context(
                Server(self.engine, *CLUSTERED, *self.options, port=free_port())
            )
            for _ in range(3)
        ]
        first = self.nodes[0]
        share = SLOTS // len(self.nodes) + 1
        for number, node in enumerate(self.nodes):
            begin, end = number * share, min((number + 1) * share, SLOTS) - 1
            node.ask("CLUSTER", "ADDSLOTSRANGE", begin, end)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if node is not first:
                node.ask("CLUSTER", "MEET", LOOPBACK, first.port, first.port + BUS)
            self._ids[node.port] = node.ask("CLUSTER", "MYID").decode()
        eventually(self.is_whole, within=30, message="cluster_state:ok on every node")
        return self

    def is_whole(self) -> bool:
        """True when every node knows all others and serves."""
        told = [node.ask("CLUSTER", "INFO").split() for node in self.nodes]
        return all(
            b"cluster_state:ok" in facts and b"cluster_known_nodes:3" in facts for facts in told
        )

    def close(self) -> None:
        self._open.close()

    def flush(self) -> None:
        """Finish open moves and empty all nodes; each must be our own live process."""
        for node in self.nodes:
            node.flush()
        for slot in list(self._moving):
            self.finish_migration(slot)

    def slot(self, key: str | bytes) -> int:
        """The slot of a key."""
        return key_slot(key.encode() if isinstance(key, str) else key)

    def owner(self, slot: int) -> Server:
        """The node that serves ``slot`` by its own account."""
        for node in self.nodes:
            mine = self._ids[node.port]
            for begin, end, (_, _, node_id, *_), *_ in node.ask("CLUSTER", "SLOTS"):
                if begin <= slot <= end and node_id.decode() == mine:
                    return node
        raise AssertionError(f"no node owns slot {slot}")

    def begin_migration(self, slot: int, target: Server) -> Server:
        """Open the move of ``slot`` to ``target`` and return its source; no key moves yet.

        From here on the source answers ASK for keys that it does not hold.
        """
        source = self.owner(slot)
        assert source is not target, f"port {target.port} owns slot {slot} already"
        self._setslot(target, slot, "IMPORTING", self._ids[source.port])
        self._setslot(source, slot, "MIGRATING", self._ids[target.port])
        self._moving[slot] = source, target
        return source

    def move_keys(self, slot: int, most: int = 1000) -> int:
        """Move up to ``most`` keys of an open move; return how many were moved."""
        source, target = self._moving[slot]
        keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, most)
        if keys:
            host, port = target.address
            source.ask("MIGRATE", host, port, "", 0, 5000, "KEYS", *keys)
        return len(keys)

    def finish_migration(self, slot: int) -> None:
        """Move the keys that are left, then hand the slot over on every node."""
        source, target = self._moving[slot]
        while self.move_keys(slot):
            pass
        others = [node for node in self.nodes if node not in (source, target)]
        for node in (target, source, *others):
            self._setslot(node, slot, "NODE", self._ids[target.port])
        del self._moving[slot]

    def _setslot(self, node: Server, slot: int, state: str, node_id: str) -> None:
        node.ask("CLUSTER", "SETSLOT", slot, state, node_id)
