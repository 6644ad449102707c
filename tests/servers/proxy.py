"""A proxy that loses requests and replies on command, and counts what passes."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections import deque
from typing import Self, TypeVar

from tests.servers.process import private_folder
from tests.servers.reach import OnSocket
from tests.servers.resp import value_end, words_of
from tests.servers.running import Running
from tests.servers.traps import (
    PATIENCE,
    CutBeforeReply,
    CutBeforeRequest,
    CutInReply,
    Hold,
    Predicate,
    Trap,
    Words,
)

HANDSHAKE = frozenset({b"HELLO", b"AUTH", b"SELECT", b"CLIENT"})
CHUNK = 1 << 20
Armed = TypeVar("Armed", bound=Trap)


class CuttingProxy(Running, OnSocket):
    """Stands on its own Unix socket before the server at ``target_socket_path``.

    ``commands`` are the requests that came, in their order and without the client library's
    handshake, which no trap meets either. ``round_trips`` counts how often a client sent when no
    reply was due to it: a pipeline is one. Connections that subscribe pass, but uncounted.
    """

    def __init__(self, target_socket_path: str) -> None:
        self.target = target_socket_path
        self.folder = private_folder()
        self.socket_path = str(self.folder / "p.sock")
        self.commands: list[Words] = []
        self.round_trips = 0
        self._traps: list[Trap] = []
        self._links: set[_Link] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(self._serve(),), daemon=True
        )

    def cut_before_request(
        self, predicate: Predicate | None = None, times: int = 1
    ) -> CutBeforeRequest:
        """Close both sides instead of forwarding the next matching requests.

        Earlier requests of the same pipeline run and are answered; later ones are lost too.
        """
        return self._arm(CutBeforeRequest(times, predicate))

    def cut_before_reply(
        self, predicate: Predicate | None = None, times: int = 1
    ) -> CutBeforeReply:
        """Close both sides when the server has answered the next matching requests.

        The whole pipeline runs; the client gets the replies before the matching one.
        """
        return self._arm(CutBeforeReply(times, predicate))

    def cut_in_reply(self, predicate: Predicate | None = None, times: int = 1) -> CutInReply:
        """Send half of the reply to the next matching requests, and close both sides."""
        return self._arm(CutInReply(times, predicate))

    def hold_reply(self, predicate: Predicate | None = None, times: int = 1) -> Hold:
        """Keep the reply of the next matching requests back until ``release`` of the result."""
        return self._arm(Hold(times, predicate))

    def delay(self, seconds: float, predicate: Predicate | None = None, times: int = 1) -> Hold:
        """Keep the reply of the next matching requests back for ``seconds``."""
        return self._arm(Hold(times, predicate, seconds=seconds))

    def drop_connections(self) -> None:
        """Close every connection that is open now; new ones are welcome."""
        asyncio.run_coroutine_threadsafe(self._drop(), self._loop).result(PATIENCE)

    def reset(self) -> None:
        """Forget counts and traps; connections stay."""
        self.commands.clear()
        self.round_trips = 0
        self._traps.clear()

    def start(self) -> Self:
        """Listen; returns when a client can connect."""
        self._thread.start()
        assert self._ready.wait(PATIENCE), "the proxy did not start"
        return self

    def close(self) -> None:
        """End all connections and the thread, and remove the socket."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(PATIENCE)
        self._loop.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def trap_for(self, words: Words, begins_trip: bool) -> Trap | None:
        """Count a request; return the trap that it meets, if any."""
        if words[0].upper() in HANDSHAKE:
            return None
        self.commands.append(words)
        self.round_trips += begins_trip
        return next((trap for trap in self._traps if trap.takes(words)), None)

    def _arm(self, trap: Armed) -> Armed:
        self._traps.append(trap)
        return trap

    async def _serve(self) -> None:
        async with await asyncio.start_unix_server(self._accept, self.socket_path):
            self._ready.set()
            await self._over.wait()
            for trap in self._traps:
                if isinstance(trap, Hold):
                    trap.release()
            await self._drop()
        await self._loop.shutdown_default_executor()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server = await asyncio.open_unix_connection(self.target)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(self, (reader, writer), server)
        self._links.add(link)
        await link.carry()
        self._links.discard(link)
        link.over.set()

    async def _drop(self) -> None:
        links = list(self._links)
        for link in links:
            link.end()
        await asyncio.gather(*(link.over.wait() for link in links))


class _Link:
    """One client's connection and the server's end of it."""

    def __init__(
        self,
        proxy: CuttingProxy,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self.proxy = proxy
        self.from_client, self.to_client = client
        self.from_server, self.to_server = server
        self.due: deque[Trap | None] = deque()
        self.cut = False
        self.over = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    async def carry(self) -> None:
        """Carry both ways until one side leaves or a trap cuts."""
        self.tasks = [asyncio.create_task(self._requests()), asyncio.create_task(self._replies())]
        await asyncio.wait(self.tasks, return_when=asyncio.FIRST_COMPLETED)
        self.end()
        for outcome in await asyncio.gather(*self.tasks, return_exceptions=True):
            if isinstance(outcome, ValueError):
                raise outcome

    def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        self.to_client.close()
        self.to_server.close()

    async def _requests(self) -> None:
        unread = bytearray()
        while data := await self.from_client.read(CHUNK):
            unread += data
            while not self.cut and (end := value_end(unread)) is not None:
                request = bytes(unread[:end])
                del unread[:end]
                self._pass_on(request)
            if self.cut and not self.due:
                return

    def _pass_on(self, request: bytes) -> None:
        trap = self.proxy.trap_for(words_of(request), begins_trip=not self.due)
        if isinstance(trap, CutBeforeRequest):
            self.cut = True
            return
        self.due.append(trap)
        self.to_server.write(request)

    async def _replies(self) -> None:
        unread = bytearray()
        lost = False
        while data := await self.from_server.read(CHUNK):
            unread += data
            while (end := value_end(unread)) is not None:
                reply = bytes(unread[:end])
                del unread[:end]
                trap = self.due.popleft() if self.due and reply[:1] != b">" else None
                if isinstance(trap, Hold):
                    await trap.pause()
                if isinstance(trap, CutInReply) and not lost:
                    self.to_client.write(reply[: len(reply) // 2])
                lost = lost or isinstance(trap, CutBeforeReply | CutInReply)
                if not lost:
                    self.to_client.write(reply)
                if (lost or self.cut) and not self.due:
                    return
