"""A wire that loses requests and replies where it is told to, and lets others act in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any, NamedTuple

import redis
from redis import exceptions as redis_errors

from echomq_app.protocol.keyspace import VERSION
from echomq_app.wire.exchange import Bus, Command, Lost, Send
from echomq_app.wire.link import Wire

Act = Callable[[], None]
Heard = Callable[[Command, Any], None]


class Fate(Enum):
    """What becomes of one sending. The client cannot tell the last three from one another."""

    PASSED = auto()
    UNSENT = auto()
    """The connection was refused: nothing was sent, and the client knows."""
    LOST_REQUEST = auto()
    LOST_REPLY = auto()
    LATE = auto()
    """Taken for lost, and executed much later, after whatever the client did meanwhile."""


class Blow(NamedTuple):
    """The fate of the next sending, and what others do before the one after it."""

    fate: Fate
    then: Act | None


class LossyWire(Wire):
    """``heard`` is told each command that the server executed, with its reply."""

    def __init__(self, client: redis.Redis, heard: Heard, late: list[Command]) -> None:
        super().__init__(client, Bus(), sleep=lambda _: self._others_act())
        self._heard = heard
        self._late = late
        self._storm: deque[Blow] = deque()
        self._then: Act | None = None
        self.lost = False

    def brace(self, storm: Iterable[Blow], *, patient: bool) -> None:
        """Meet ``storm`` from the next sending on; without patience the first loss ends a call."""
        self._storm, self._then, self.lost = deque(storm), None, False
        self.bus.patience_s = 5.0 if patient else 0.0

    def _others_act(self) -> None:
        act, self._then = self._then, None
        if act is not None:
            act()

    def _send(self, step: Send) -> list[Any] | None:
        if step.key == VERSION or step.commands[0][0] == "SCRIPT":
            return super()._send(step)
        self._others_act()
        fate, then = self._storm[0] if self._storm else Blow(Fate.PASSED, None)
        if fate in (Fate.PASSED, Fate.LOST_REPLY):
            executed = super()._send(step)
            if executed is None:
                return None
            for command, reply in zip(step.commands, executed, strict=True):
                self._heard(command, reply)
        self._then = then
        if self._storm:
            self._storm.popleft()
        if fate is Fate.PASSED:
            return executed
        if fate is Fate.LATE:
            self._late += step.commands
        self.lost = self.lost or fate is not Fate.UNSENT
        cause = redis_errors.ConnectionError("cut by the model")
        return [Lost(fate is not Fate.UNSENT, cause)] * len(step.commands)
