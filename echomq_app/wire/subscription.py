"""Hears what is published on channels: on a connection of its own, subscribed anew when it breaks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from hiredis import Reader
from redis.exceptions import RedisError

from echomq_app.wire.failures import BROKEN, Verdict, denial, judge, refusal
from echomq_app.wire.line import pack
from echomq_app.wire.link import Wire

BUFFER: Final = 65536
ANSWER_S: Final = 5.0
"""How long a server may take to answer before its connection is dead."""
CHECK_S: Final = 10.0
"""How long a connection may be silent before it is asked whether it lives."""
FIRST_REST_S: Final = 0.05
LONGEST_REST_S: Final = 2.0


class Subscription:
    """Hears messages on ``channels``. Used by one thread.

    What is published while the connection is broken is lost; ``gaps`` counts how often that may
    have happened. A server that is away is asked again and again; one that denies access, or
    refuses to subscribe, raises ``ServerFault``.
    """

    def __init__(
        self,
        wire: Wire,
        channels: Sequence[str],
        *,
        check_s: float = CHECK_S,
        answer_s: float = ANSWER_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``wire`` says where the server is; its own connections are left alone."""
        self._wire = wire
        self._channels = tuple(channels)
        self._check_s = check_s
        self._answer_s = answer_s
        self._sleep = sleep
        self._connection: Any = None
        self._reader: Any = None
        self._confirmed = 0
        self._heard_at = 0.0
        self._asked_at: float | None = None
        """When the connection was asked whether it lives."""
        self._rest_s = FIRST_REST_S
        self._heard: deque[tuple[str, bytes]] = deque()
        self.gaps = 0

    @property
    def ready(self) -> bool:
        """Whether the server has confirmed every channel: what is published from now on is heard."""
        return self._connection is not None and self._confirmed >= len(self._channels)

    def wait_ready(self, seconds: float) -> bool:
        """Wait up to ``seconds`` to be subscribed; whether it is."""
        deadline = time.monotonic() + seconds
        while not self.ready and (left := deadline - time.monotonic()) > 0:
            self._listen(left)
        return self.ready

    def hear(self, seconds: float) -> tuple[str, bytes] | None:
        """The next message and its channel; ``None`` when none came in ``seconds``."""
        deadline = time.monotonic() + seconds
        while not self._heard:
            self._listen(max(0.0, deadline - time.monotonic()))
            if time.monotonic() >= deadline:
                break
        return self._heard.popleft() if self._heard else None

    def close(self) -> None:
        """Leave; heard again from the next ``hear`` on."""
        if self._connection is not None:
            self._connection.disconnect()
            self._connection = None

    def _listen(self, seconds: float) -> None:
        """Take what the server sends within ``seconds``, at most once."""
        try:
            if self._connection is None:
                self._connect()
            self._receive(min(seconds, self._check()))
        except BROKEN as cause:
            denied = denial(cause)
            if denied is not None:
                raise denied from cause
            self._rest(seconds)

    def _connect(self) -> None:
        pool = self._wire.pool_for(self._channels[0])
        options = {**pool.connection_kwargs, "socket_timeout": self._answer_s}
        connection = pool.connection_class(**options)
        connection.connect()
        self._connection, self._confirmed, self._asked_at = connection, 0, None
        self._reader = Reader(replyError=connection._parser.parse_error)
        self._heard_at = time.monotonic()
        self._send("SUBSCRIBE", *self._channels)

    def _send(self, *words: str) -> None:
        self._connection._sock.settimeout(self._answer_s)
        self._connection._sock.sendall(pack(words))

    def _check(self) -> float:
        """Seconds until the connection wants another look; raises when it has not answered one."""
        now = time.monotonic()
        if self._asked_at is None:
            quiet = self._heard_at + (self._check_s if self.ready else self._answer_s) - now
            if quiet > 0:
                return quiet
            self._send("PING")
            self._asked_at = now
        left = self._asked_at + self._answer_s - now
        if left <= 0:
            raise TimeoutError(f"the server did not answer within {self._answer_s:g} s")
        return left

    def _receive(self, seconds: float) -> None:
        self._connection._sock.settimeout(max(seconds, 0.001))
        try:
            data = self._connection._sock.recv(BUFFER)
        except TimeoutError:
            return
        if not data:
            raise ConnectionError("the server closed the connection")
        self._heard_at, self._asked_at = time.monotonic(), None
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            self._take(reply)

    def _take(self, reply: Any) -> None:
        if isinstance(reply, RedisError):
            if judge(reply) is Verdict.REFUSED:
                self.close()
                raise refusal("subscribe", reply)
            raise ConnectionError(str(reply))
        if isinstance(reply, list) and reply[0] == b"message":
            self._heard.append((reply[1].decode(), reply[2]))
        elif isinstance(reply, list) and reply[0] == b"subscribe":
            self._confirmed += 1
            self._rest_s = FIRST_REST_S

    def _rest(self, seconds: float) -> None:
        """The connection is broken, or none came about: leave it alone for a moment."""
        if self.ready:
            self.gaps += 1
        self.close()
        self._wire.recover()
        self._sleep(min(seconds, self._rest_s))
        self._rest_s = min(self._rest_s * 2, LONGEST_REST_S)
