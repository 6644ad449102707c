"""A leased connection spoken to in whole buffers: one send and as few reads as the answers need."""

from __future__ import annotations

import os
import select
import socket
import struct
import sys
from collections import deque
from collections.abc import Callable, Sequence
from math import ceil
from ssl import SSLSocket
from time import monotonic
from typing import Any, Final

from hiredis import PushNotification, Reader, pack_command
from redis.exceptions import ReadOnlyError

from echomq_app.wire.exchange import Command, Lost
from echomq_app.wire.failures import BROKEN

BUFFER: Final = 65536
pack: Callable[[Command], bytes] = pack_command  # type: ignore[assignment]  # its stub has one word
LONGEST_ANSWER_S: Final = 5.0
"""How long a server may be silent where the pool sets no bound of its own."""
FRESH_S: Final = 0.05
"""A line that answered within so long is trusted to live, where a loss is mended by a repeat."""
MOST_IDLE: Final = 8
"""Lines that a wire keeps for its next callers; a small pool is left half to its other users."""


def _readable(sock: Any) -> Callable[[], Any]:
    """Whether something waits on the socket, asked without waiting; Windows has no poll."""
    if not hasattr(select, "poll"):
        return lambda: select.select([sock], [], [], 0)[0]
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return lambda: poller.poll(0)


def _bound(sock: Any, seconds: float) -> None:
    """Let no call on the socket wait longer.

    A plain socket is bounded by Linux itself: Python's own bound is a poll before every call. Where
    the socket does not wait in the system (under TLS, patched for green threads) Python bounds it.
    """
    if sys.platform == "linux" and not isinstance(sock, SSLSocket):
        sock.settimeout(None)
        if os.get_blocking(sock.fileno()):
            _set_system_bound(sock, seconds)
            return
    sock.settimeout(seconds)


def _set_system_bound(sock: Any, seconds: float) -> None:
    whole, part = divmod(ceil(seconds * 1_000_000), 1_000_000)
    bound = struct.pack("@ll", whole, part)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, bound)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, bound)


def _unbind(sock: Any, seconds: float | None) -> None:
    """Bound the socket by Python alone, as its pool had it."""
    if sys.platform == "linux":
        _set_system_bound(sock, 0)
    sock.settimeout(seconds)


class Line:
    """One connection of a redis-py pool, its socket read without the client's own layers.

    redis-py connects it: address, TLS, login, database and protocol are the pool's.
    """

    __slots__ = (
        "_answered_at",
        "_readable",
        "_reader",
        "_recv",
        "_sendall",
        "_sock",
        "_timeout",
        "connection",
    )

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._sock = sock = connection._sock
        self._timeout = sock.gettimeout()
        _bound(sock, self._timeout or LONGEST_ANSWER_S)
        self._sendall = sock.sendall
        self._recv = sock.recv
        self._reader = Reader(replyError=connection._parser.parse_error)
        self._readable = _readable(sock)
        self._answered_at = 0.0

    def is_quiet(self, trusting: bool) -> bool:
        """Whether nothing waits to be read: neither a stray answer nor the end of the connection.

        ``trusting`` saves the system call when it has just answered.
        """
        fresh = trusting and monotonic() - self._answered_at < FRESH_S
        return self.is_open and (fresh or not self._readable())

    def converse(self, commands: Sequence[Command]) -> list[Any]:
        """An answer for each command: a value, the server's error, or ``Lost`` from the break on."""
        return self.say(commands) or self.hear(len(commands))

    def say(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands, whose answers are heard later; all ``Lost`` when the connection broke."""
        try:
            self._sendall(
                pack(commands[0]) if len(commands) == 1 else b"".join(map(pack, commands))
            )
        except BROKEN as cause:
            self.connection.disconnect()
            return [Lost(True, cause)] * len(commands)
        except BaseException:
            self.connection.disconnect()
            raise
        return []

    def hear(self, wanted: int) -> list[Any]:
        """The answers to ``wanted`` commands that were sent.

        A server that says it is a replica now is left: a sentinel's pool then finds the new master.
        """
        replies: list[Any] = []
        demoted = False
        try:
            reader = self._reader
            while True:
                while (reply := reader.gets()) is not False:
                    if type(reply) is PushNotification:
                        continue
                    replies.append(reply)
                    if isinstance(reply, ReadOnlyError):
                        demoted = True
                    if len(replies) == wanted:
                        self._answered_at = monotonic()
                        if demoted:
                            self.connection.disconnect()
                        return replies
                data = self._recv(BUFFER)
                if not data:
                    raise ConnectionError("the server closed the connection")
                reader.feed(data)
        except BROKEN as cause:
            self.connection.disconnect()
            silent = isinstance(cause, BlockingIOError)
            why = TimeoutError("timed out") if silent else cause
            return replies + [Lost(True, why)] * (wanted - len(replies))
        except BaseException:
            self.connection.disconnect()
            raise

    @property
    def is_open(self) -> bool:
        """Whether the pool has not closed or replaced the socket behind the line's back."""
        return self.connection._sock is self._sock

    def leave(self) -> Any:
        """The connection as the pool gave it, for the pool to take back."""
        if self.is_open:
            _unbind(self._sock, self._timeout)
        return self.connection


class Lines:
    """The idle lines of one pool."""

    def __init__(self, pool: Any, on_reconnect: Callable[[Any], None]) -> None:
        """``on_reconnect`` is called when a connection of ours reaches a server again."""
        self._pool = pool
        self._on_reconnect = on_reconnect
        self._most = min(MOST_IDLE, getattr(pool, "max_connections", MOST_IDLE) // 2)
        self._idle: deque[Line] = deque()

    def take(self, trusting: bool) -> tuple[Line, bool]:
        """A line, and whether it replaces one that was found dead. Raises what connecting raises."""
        died = False
        while self._idle:
            try:
                line = self._idle.pop()
            except IndexError:
                break
            if line.is_quiet(trusting):
                return line, died
            died = True
            line.connection.disconnect()
            self._pool.release(line.leave())
        connection = self._pool.get_connection()
        connection.register_connect_callback(self._on_reconnect)
        return Line(connection), died

    def give_back(self, line: Line) -> None:
        """Keep an open line for the next caller; the pool takes what is too many or broken."""
        if line.is_open and len(self._idle) < self._most:
            self._idle.append(line)
        else:
            self._pool.release(line.leave())

    def close(self) -> None:
        """Give every idle line back to the pool."""
        while self._idle:
            self._pool.release(self._idle.pop().leave())
