"""Where an idle worker waits: a blocking read of the wake lists, on connections of its own."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import Any, Final

from redis.cluster import RedisCluster

from echomq_app.protocol.keyspace import slot
from echomq_app.wire.failures import BROKEN
from echomq_app.wire.link import Wire, read_reply

MARGIN_S: Final = 5.0
"""How much longer than the longest block a socket waits: the server answers first, or it is gone."""


class Parking:
    """Waits for a token on any of ``wake_lists``; one parked connection a cluster slot.

    Used by one thread. A blocking read that is still out when ``wait`` returns stays out, so no token
    is lost between two waits. ``wait`` never raises for a broken connection: it says that nothing came
    and parks anew the next time, so that a worker looks for itself.
    """

    def __init__(self, wire: Wire, wake_lists: Sequence[str], *, block_s: float = 1.0) -> None:
        """``block_s``: how long one blocking read lasts on the server."""
        self._wire = wire
        self._block_s = block_s
        self._groups: dict[int, list[str]] = {}
        for key in wake_lists:
            place = slot(key) if isinstance(wire.client, RedisCluster) else 0
            self._groups.setdefault(place, []).append(key)
        self._connections: dict[int, Any] = {}
        self._out: set[int] = set()

    def wait(self, seconds: float, *, park: bool = True, bell: int | None = None) -> set[str]:
        """Wait up to ``seconds``; the lists that gave a token, soon and perhaps none when ``bell`` rings.

        ``bell`` is a file descriptor that becomes readable when something else wants the caller.
        With ``park`` false no new blocking read is sent; what is still out is listened to.
        """
        started = time.monotonic()
        try:
            if park:
                for place in self._groups.keys() - self._out:
                    self._park(place)
            return self._listen(seconds, bell)
        except BROKEN:
            self.close()
            left = seconds - (time.monotonic() - started)
            select.select([] if bell is None else [bell], [], [], max(0.0, left))
            return set()

    def _park(self, place: int) -> None:
        connection = self._connections.get(place)
        if connection is None:
            connection = self._connections[place] = self._new_connection(self._groups[place][0])
        connection.send_command("BLPOP", *self._groups[place], f"{self._block_s:.3f}")
        self._out.add(place)

    def _new_connection(self, key: str) -> Any:
        pool = self._wire.pool_for(key)
        options = {**pool.connection_kwargs, "socket_timeout": self._block_s + MARGIN_S}
        connection = pool.connection_class(**options)
        connection.connect()
        return connection

    def _listen(self, seconds: float, bell: int | None) -> set[str]:
        places = {self._connections[place]._sock: place for place in self._out}
        listening: list[Any] = [*places] if bell is None else [*places, bell]
        ready, _, _ = select.select(listening, [], [], max(0.0, seconds))
        return {woken for one in ready if one in places and (woken := self._read(places[one]))}

    def _read(self, place: int) -> str | None:
        self._out.discard(place)
        reply = read_reply(self._connections[place])
        if isinstance(reply, Exception):
            self.close()
            return None
        return bytes(reply[0]).decode() if reply else None

    def close(self) -> None:
        """Leave: close every parked connection."""
        for connection in self._connections.values():
            connection.disconnect()
        self._connections.clear()
        self._out.clear()
