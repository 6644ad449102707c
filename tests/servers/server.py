"""One plain server on a private Unix socket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
import redis.asyncio
import redis.asyncio.retry
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.servers.engines import Engine
from tests.servers.process import ServerProcess

LOOPBACK = "127.0.0.1"


class Server(ServerProcess):
    """A server of ``engine`` with ``options`` (``"--maxmemory", "8mb"``) after the defaults.

    Nothing persists unless the options say so. It listens on ``socket_path``, and on
    127.0.0.1:``port`` only when a port is given.
    """

    def __init__(self, engine: Engine, *options: str, port: int = 0) -> None:
        assert engine.available, f"{engine.name}: {engine.why_not}"
        super().__init__()
        self.engine = engine
        self.options = options
        self.port = port
        self.socket_path = str(self.folder / "s.sock")
        self.admin: redis.Redis = self.client()

    @property
    def url(self) -> str:
        """``unix://`` URL of database 0."""
        return f"unix://{self.socket_path}?db=0"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; meaningful only for a server with a port."""
        return LOOPBACK, self.port

    def command(self) -> Sequence[str]:
        defaults = ["--save", "", "--appendonly", "no", "--bind", LOOPBACK]
        place = ["--port", str(self.port), "--unixsocket", self.socket_path]
        folder = ["--dir", str(self.folder), "--daemonize", "no"]
        return [str(self.engine.binary), *place, *folder, *defaults, *self.options]

    def client(self, **options: Any) -> redis.Redis:
        """A redis-py client with its own pool that never retries and answers bytes."""
        options = {"retry": Retry(NoBackoff(), 0)} | options
        return redis.Redis(unix_socket_path=self.socket_path, **options)

    def async_client(self, **options: Any) -> redis.asyncio.Redis:
        """The same for asyncio."""
        options = {"retry": redis.asyncio.retry.Retry(NoBackoff(), 0)} | options
        return redis.asyncio.Redis(unix_socket_path=self.socket_path, **options)

    def ask(self, *words: str | bytes | int) -> Any:
        """Run one command on a connection of the harness; the reply as the server gave it."""
        return self.admin.execute_command(*words)  # type: ignore[no-untyped-call]

    def answers(self) -> bool:
        """True when this very process, and no other on its socket, serves requests."""
        try:
            return int(self.admin.info("server")["process_id"]) == self.pid
        except (redis.ConnectionError, redis.TimeoutError, redis.exceptions.BusyLoadingError):
            return False

    def flush(self) -> None:
        """Empty all databases; ``AssertionError`` unless the server is our own live process."""
        assert self.alive, f"our {self.engine.name} server is dead:\n{self.log()[-2000:]}"
        assert self.answers(), f"{self.socket_path} is not served by our process {self.pid}"
        self.admin.flushall()

    def close(self) -> None:
        self.admin.close()
        super().close()
