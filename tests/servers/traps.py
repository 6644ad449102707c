"""What can happen to a request that passes the proxy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

Words = tuple[bytes, ...]
Predicate = Callable[[Words], bool]
PATIENCE = 10.0


def named(*names: str) -> Predicate:
    """Match requests by their command's name, in any case: ``named("EVALSHA", "EVAL")``."""
    wanted = {name.upper().encode() for name in names}
    return lambda words: words[0].upper() in wanted


@dataclass(eq=False)
class Trap:
    """Waits for the next ``left`` requests that match; ``fired`` says how many have met it."""

    left: int
    predicate: Predicate | None
    fired: int = 0

    def takes(self, words: Words) -> bool:
        """True when this request meets the trap, which is then used up by one."""
        if self.left == 0 or not (self.predicate is None or self.predicate(words)):
            return False
        self.left -= 1
        self.fired += 1
        return True


class CutBeforeRequest(Trap):
    """The server never sees the request."""


class CutBeforeReply(Trap):
    """The server runs the request; the client never sees the reply."""


class CutInReply(Trap):
    """The server runs the request; the client gets half of the reply's bytes and no more."""


@dataclass(eq=False)
class Hold(Trap):
    """The server runs the request; its reply waits for ``release``, or for ``seconds``."""

    seconds: float | None = None
    _held: threading.Event = field(default_factory=threading.Event)
    _released: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Wait until a reply is held; ``AssertionError`` when none comes in ten seconds."""
        assert self._held.wait(PATIENCE), "no reply came to be held"

    def release(self) -> None:
        """Let the held reply, and later ones, pass."""
        self._released.set()

    async def pause(self) -> None:
        """Return when the reply may pass."""
        self._held.set()
        await asyncio.to_thread(self._released.wait, self.seconds)
