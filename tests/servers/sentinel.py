"""A master, its replica and the three sentinels that watch them, all on loopback."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Self

import redis
import redis.sentinel
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.eventually import eventually
from tests.servers.engines import Engine
from tests.servers.process import ServerProcess
from tests.servers.running import Running
from tests.servers.server import LOOPBACK, Server, free_port

SERVICE = "emq"
WATCHERS = 3
QUORUM = 2
CONFIG = """\
port {port}
bind {host}
dir {folder}
sentinel monitor {service} {host} {master} {quorum}
sentinel down-after-milliseconds {service} 500
sentinel failover-timeout {service} 3000
"""


class Watcher(ServerProcess):
    """One sentinel process, told of the master at ``master_port``."""

    def __init__(self, engine: Engine, master_port: int) -> None:
        super().__init__()
        self.engine = engine
        self.port = free_port()
        facts = {"port": self.port, "host": LOOPBACK, "folder": self.folder, "service": SERVICE}
        config = CONFIG.format(**facts, master=master_port, quorum=QUORUM)
        (self.folder / "sentinel.conf").write_text(config)
        self.admin = redis.Redis(LOOPBACK, self.port, retry=Retry(NoBackoff(), 0))

    def command(self) -> Sequence[str]:
        return [str(self.engine.binary), str(self.folder / "sentinel.conf"), "--sentinel"]

    def answers(self) -> bool:
        """True when this very process serves its port."""
        try:
            return int(self.admin.info("server")["process_id"]) == self.pid
        except (redis.ConnectionError, redis.TimeoutError):
            return False

    def sees_all(self) -> bool:
        """True when it knows a live master, the replica and both other sentinels."""
        told: Any = self.admin.sentinel_master(SERVICE)
        seen = told["flags"], told["num-slaves"], told["num-other-sentinels"]
        return seen == ("master", 1, WATCHERS - 1)

    def master_port(self) -> int:
        """The port of the master that it names to clients."""
        told: Any = self.admin.sentinel_get_master_addr_by_name(SERVICE)
        return int(told[1])

    def close(self) -> None:
        self.admin.close()
        super().close()


class Sentinel(Running):
    """A service named ``emq`` that survives its master; a context manager."""

    service = SERVICE

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.servers: list[Server] = []
        self.watchers: list[Watcher] = []
        self._open = ExitStack()

    @property
    def url(self) -> str:
        """``redis+sentinel://host:port,host:port,host:port/emq``."""
        places = ",".join(f"{LOOPBACK}:{watcher.port}" for watcher in self.watchers)
        return f"redis+sentinel://{places}/{SERVICE}"

    def client(self, **options: Any) -> redis.Redis:
        """A client of the master that asks the sentinels where it is and retries nothing."""
        places = [(LOOPBACK, watcher.port) for watcher in self.watchers]
        options = {"retry": Retry(NoBackoff(), 0)} | options
        found: Any = redis.sentinel.Sentinel(places)
        client: redis.Redis = found.master_for(SERVICE, **options)
        return client

    @property
    def master(self) -> Server:
        """The server that all sentinels name; ``AssertionError`` while they disagree."""
        named = {watcher.master_port() for watcher in self.watchers}
        assert len(named) == 1, f"the sentinels disagree: {named}"
        return next(server for server in self.servers if server.port in named)

    @property
    def untouched(self) -> bool:
        """True while everything lives and the first master still is the master."""
        everything = (*self.servers, *self.watchers)
        first = self.servers[0].port
        return all(process.alive for process in everything) and all(
            watcher.master_port() == first for watcher in self.watchers
        )

    def start(self) -> Self:
        """Start all and wait until each sentinel knows the master, the replica and the others."""
        fast = ("--repl-diskless-sync-delay", "0")
        master = self._open.enter_context(Server(self.engine, *fast, port=free_port()))
        host, port = map(str, master.address)
        follow = ("--replicaof", host, port)
        replica = self._open.enter_context(Server(self.engine, *fast, *follow, port=free_port()))
        self.servers = [master, replica]
        eventually(lambda: _is_linked(replica), message="the replica's link to its master")
        self.watchers = [
            self._open.enter_context(Watcher(self.engine, master.port)) for _ in range(WATCHERS)
        ]
        eventually(
            lambda: all(watcher.sees_all() for watcher in self.watchers),
            within=30,
            message="all sentinels' view of the whole",
        )
        return self

    def fail_over(self, within: float = 30.0) -> Server:
        """Kill the master; return the server that all sentinels made the new one."""
        old = self.master
        old.kill()
        new = next(server for server in self.servers if server is not old)
        eventually(
            lambda: self.master is new and new.ask("ROLE")[0] == b"master",
            within=within,
            message="the replica's promotion",
        )
        return new

    def flush(self) -> None:
        """Empty the master, and the replica with it; each must be our own live process."""
        self.master.flush()
        assert self.master.ask("WAIT", 1, 5000) == 1, "the replica does not follow"

    def close(self) -> None:
        self._open.close()


def _is_linked(replica: Server) -> bool:
    return bool(replica.admin.info("replication").get("master_link_status") == "up")
