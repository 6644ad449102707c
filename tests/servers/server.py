"""One plain server on a private Unix socket."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Sequence
from typing import Any

import redis

from tests.servers.engines import Engine
from tests.servers.process import ServerProcess
from tests.servers.reach import OnSocket

LOOPBACK = "127.0.0.1"
BUS = 10000
PORTS = range(12000, 22768)


class Server(ServerProcess, OnSocket):
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
    def address(self) -> tuple[str, int]:
        """Host and port; ``AssertionError`` for a server without a port."""
        assert self.port, "this server listens on its socket alone"
        return LOOPBACK, self.port

    @property
    def tcp_url(self) -> str:
        """``redis://`` URL of database 0; ``AssertionError`` for a server without a port."""
        host, port = self.address
        return f"redis://{host}:{port}/0"

    def command(self) -> Sequence[str]:
        place = ["--port", str(self.port), "--bind", LOOPBACK, "--unixsocket", self.socket_path]
        defaults = ["--dir", str(self.folder), "--save", "", "--appendonly", "no"]
        return [str(self.engine.binary), *place, *defaults, *self.options]

    def ask(self, *words: str | bytes | int) -> Any:
        """Run one command on a connection of the harness; the reply as the server gave it."""
        return self.admin.execute_command(*words)

    def answers(self) -> bool:
        """True when this very process, and no other on its socket, serves requests."""
        try:
            return int(self.admin.info("server")["process_id"]) == self.pid
        except (redis.ConnectionError, redis.TimeoutError):
            return False

    def flush(self) -> None:
        """Empty all databases; ``AssertionError`` unless the server is our own live process."""
        assert self.alive, f"our {self.engine.name} server is dead:\n{self.log()[-2000:]}"
        assert self.answers(), f"{self.socket_path} is not served by our process {self.pid}"
        self.admin.flushall()

    def close(self) -> None:
        self.admin.close()
        super().close()


def free_port() -> int:
    """A loopback port that nobody had a moment ago, nor the cluster bus port above it."""
    while True:
        port = secrets.choice(PORTS)
        if _is_free(port) and _is_free(port + BUS):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
