"""Where an idle worker waits: a blocking read of the wake lists, on connections of its own."""

from __future__ import annotations

import selectors
import time
from collections.abc import Sequence
from typing import Any, Final

from redis.cluster import RedisCluster

from echomq_app.protocol.keyspace import slot
from echomq_app.wire.failures import BROKEN
from echomq_app.wire.link import Wire, read_reply

MARGIN_S: Final = 5.0
"""How much longer than the longest block an answer may take: after that its connection is dead."""


class Parking:
    """Waits for a token on any of ``wake_lists``; one parked connection a cluster slot.

    Used by one thread. A blocking read that is still out when ``wait`` returns stays out, so no token
    is lost between two waits. ``wait`` never raises for a broken connection or a refused read: that
    place rests for one block, and a worker looks for itself on its beat.
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
        self._out: dict[int, float] = {}
        """When the read that is out was sent."""
        self._rests: dict[int, float] = {}
        """Until when a place that failed is left alone."""

    def wait(self, seconds: float, *, park: bool = True, bell: int | None = None) -> set[str]:
        """Wait up to ``seconds``; the lists that gave a token, soon and perhaps none when ``bell`` rings.

        ``bell`` is a file descriptor that becomes readable when something else wants the caller.
        With ``park`` false no new blocking read is sent; what is still out is listened to.
        """
        now = time.monotonic()
        for place in [one for one, since in self._out.items() if now - since > self._longest]:
            self._give_up(place)
        if park:
            for place in self._groups.keys() - self._out.keys():
                if now >= self._rests.get(place, 0.0):
                    self._park(place)
        return self._listen(seconds, bell)

    @property
    def _longest(self) -> float:
        return self._block_s + MARGIN_S

    def _park(self, place: int) -> None:
        try:
            connection = self._connections.get(place) or self._connect(place)
            connection.send_command("BLPOP", *self._groups[place], f"{self._block_s:.3f}")
            self._out[place] = time.monotonic()
        except BROKEN:
            self._give_up(place)

    def _connect(self, place: int) -> Any:
        pool = self._wire.pool_for(self._groups[place][0])
        options = {**pool.connection_kwargs, "socket_timeout": self._longest}
        connection = self._connections[place] = pool.connection_class(**options)
        connection.connect()
        return connection

    def _give_up(self, place: int) -> None:
        self._out.pop(place, None)
        self._rests[place] = time.monotonic() + self._block_s
        connection = self._connections.pop(place, None)
        if connection is not None:
            connection.disconnect()

    def _listen(self, seconds: float, bell: int | None) -> set[str]:
        with selectors.DefaultSelector() as selector:
            for place in self._out:
                selector.register(self._connections[place]._sock, selectors.EVENT_READ, place)
            if bell is not None:
                selector.register(bell, selectors.EVENT_READ)
            ready = [key.data for key, _ in selector.select(max(0.0, seconds))]
        return {token for place in ready if place is not None and (token := self._read(place))}

    def _read(self, place: int) -> str | None:
        try:
            reply = read_reply(self._connections[place])
        except BROKEN:
            self._give_up(place)
            return None
        if isinstance(reply, Exception):
            self._give_up(place)
            return None
        del self._out[place]
        return bytes(reply[0]).decode() if reply else None

    def close(self) -> None:
        """Leave: close every parked connection."""
        for connection in self._connections.values():
            connection.disconnect()
        self._connections.clear()
        self._out.clear()
