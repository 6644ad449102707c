"""Publishes what became of jobs on their queues' channels, off the loop's thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from echomq_app.protocol.calls import Call, events
from echomq_app.protocol.calls.events import Published
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import State
from echomq_app.runtime.events import Event
from echomq_app.wire.link import Wire

MOST_WAITING: Final = 10_000
"""Events that wait to be sent; the oldest go when a server is slower than its workers."""
MOST_AT_ONCE: Final = 500
LEAVING_S: Final = 1.0
_LONGEST_ERROR: Final = 500

_NAMES: Final[Mapping[Event, tuple[Published, dict[str, str]]]] = {
    Event.COMPLETED: (Published.COMPLETED, {}),
    Event.RETRIED: (Published.FAILED, {"state": State.SCHEDULED.value}),
    Event.BURIED: (Published.FAILED, {"state": State.DEAD.value}),
    Event.DELAYED: (Published.DELAYED, {}),
}


class Publisher:
    """A report that publishes how settles ended: by their outcome, after the server's verdict.

    At most once, as channels are: what finds no server is dropped. ``wire`` is used by a thread of
    the publisher's own.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._waiting: deque[tuple[Event, dict[str, Any]]] = deque(maxlen=MOST_WAITING)
        self._news = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="emq-publisher", daemon=True)
        self._thread.start()

    def __call__(self, event: Event, /, **facts: object) -> None:
        """Take an event; return at once."""
        if event in _NAMES:
            self._waiting.append((event, facts))
            self._news.set()

    def close(self) -> None:
        """Send what waits, for a moment at most, and end."""
        self._closing = True
        self._news.set()
        self._thread.join(LEAVING_S)

    def _run(self) -> None:
        while not self._closing:
            self._news.wait()
            self._news.clear()
            while self._waiting:
                self._wire.answer(self._some())

    def _some(self) -> list[Call[int]]:
        taken = min(len(self._waiting), MOST_AT_ONCE)
        return [_call(*self._waiting.popleft()) for _ in range(taken)]


def _call(event: Event, facts: Mapping[str, Any]) -> Call[int]:
    name, more = _NAMES[event]
    told: dict[str, object] = {**more}
    if "attempt" in facts:
        told["attempt"] = facts["attempt"]
    if "error" in facts:
        told["error"] = str(facts["error"])[-_LONGEST_ERROR:]
    return events.publish(QueueKeys(facts["queue"]), name, facts["job"], told)
