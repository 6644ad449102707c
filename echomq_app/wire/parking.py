"""Where an idle worker waits: a blocking read of the wake lists, on connections of its own."""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Any, Final

from redis.cluster import RedisCluster

from echomq_app.protocol.keyspace import slot
from echomq_app.wire.failures import BROKEN
from echomq_app.wire.link import Wire, read_reply

MARGIN_S: Final = 5.0
"""How much longer than the block a socket waits: the server answers first, or it is gone."""


class Parking:
    """Waits for a token on any of ``wake_lists``; one parked connection a cluster slot.

    Not shared between threads. ``wait`` never raises for a broken connection: it says that nothing
    came, and parks anew the next time, so that a worker looks for itself.
    """

    def __init__(self, wire: Wire, wake_lists: Sequence[str]) -> None:
        self._wire = wire
        self._groups: dict[int, list[str]] = {}
        for key in wake_lists:
            place = slot(key) if isinstance(wire.client, RedisCluster) else 0
            self._groups.setdefault(place, []).append(key)
        self._connections: dict[int, Any] = {}
        self._waiting: set[int] = set()

    def wait(self, seconds: float) -> set[str]:
        """Block up to ``seconds`` (at least a millisecond); the lists that gave a token."""
        seconds = max(seconds, 0.001)
        try:
            for place in self._groups:
                self._park(place, seconds)
            if len(self._groups) == 1:
                (place,) = self._groups
                woken = self._read(place)
                return {woken} if woken else set()
            return self._read_ready(seconds)
        except BROKEN:
            self.close()
            return set()

    def _park(self, place: int, seconds: float) -> None:
        """Send the blocking read, unless one is still out."""
        if place in self._waiting:
            return
        connection = self._connections.get(place)
        if connection is None:
            connection = self._connections[place] = self._new_connection(self._groups[place][0], seconds)
        connection.send_command("BLPOP", *self._groups[place], f"{seconds:.3f}")
        self._waiting.add(place)

    def _new_connection(self, key: str, seconds: float) -> Any:
        pool = self._wire.pool_for(key)
        options = {**pool.connection_kwargs, "socket_timeout": seconds + MARGIN_S}
        connection = pool.connection_class(**options)
        connection.connect()
        return connection

    def _read(self, place: int) -> str | None:
        self._waiting.discard(place)
        reply = read_reply(self._connections[place])
        if isinstance(reply, Exception):
            self.close()
            return None
        return bytes(reply[0]).decode() if reply else None

    def _read_ready(self, seconds: float) -> set[str]:
        sockets = {self._connections[place]._sock: place for place in self._waiting}
        ready, _, _ = select.select(list(sockets), [], [], seconds + MARGIN_S)
        return {woken for one in ready if (woken := self._read(sockets[one]))}

    def close(self) -> None:
        """Leave: close every parked connection."""
        for connection in self._connections.values():
            connection.disconnect()
        self._connections.clear()
        self._waiting.clear()
