"""A cluster seen through a losing proxy before each node, on loopback ports of their own."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Self

from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.servers.running import Running
from tests.servers.server import LOOPBACK, Server
from tests.servers.traps import PATIENCE, Predicate, Words

CHUNK = 1 << 16
Address = tuple[str, int]


class LosingCluster(Running):
    """Clients of it reach every node through that node's proxy, whatever address they are told."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.proxies = {node.port: CuttingProxy(node.socket_path) for node in cluster.nodes}
        self._ports: dict[int, int] = {}
        self._writers: list[asyncio.StreamWriter] = []
        self._open = ExitStack()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(self._serve(),), daemon=True
        )

    def client(self, **options: Any) -> Any:
        """A blocking client that meets the proxies alone."""
        return self.cluster.client(address_remap=self.remap, **options)

    def async_client(self, **options: Any) -> Any:
        """The same for asyncio."""
        return self.cluster.async_client(address_remap=self.remap, **options)

    def remap(self, address: Address) -> Address:
        """The door of a node; of a door, itself."""
        host, port = address
        return host, self._ports.get(port, port)

    def proxy_of(self, node: Server) -> CuttingProxy:
        """The proxy before a node."""
        return self.proxies[node.port]

    def sent(self, predicate: Predicate) -> list[Words]:
        """The requests that came to any node and match."""
        return [w for proxy in self.proxies.values() for w in proxy.commands if predicate(w)]

    def start(self) -> Self:
        """Open a door before each node."""
        for proxy in self.proxies.values():
            self._open.enter_context(proxy)
        self._thread.start()
        assert self._ready.wait(PATIENCE), "the doors did not open"
        return self

    def close(self) -> None:
        """Shut the doors and end the proxies."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(PATIENCE)
            self._loop.close()
        self._open.close()

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as carrying:
            for port, proxy in self.proxies.items():
                carry = partial(self._carry_both, proxy.socket_path)
                server = await asyncio.start_server(carry, LOOPBACK, 0)
                self._ports[port] = server.sockets[0].getsockname()[1]
                carrying.create_task(self._until_over(server))
            self._ready.set()

    async def _until_over(self, server: asyncio.Server) -> None:
        async with server:
            await self._over.wait()
            for writer in self._writers:
                writer.close()

    async def _carry_both(
        self, socket_path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        inner_reader, inner_writer = await asyncio.open_unix_connection(socket_path)
        self._writers += [writer, inner_writer]
        await asyncio.gather(_carry(reader, inner_writer), _carry(inner_reader, writer))


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()
