"""A queue's channel: what becomes of jobs, told to whoever listens at that moment."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from echomq_app.protocol.calls import events
from echomq_app.protocol.calls.events import QueueEvent
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.wire.link import Wire
from echomq_app.wire.subscription import Subscription


class EventChannel:
    """Publishes on one queue's channel. Holds no state of its own; share it between threads."""

    def __init__(self, wire: Wire, queue: str) -> None:
        self.keys = QueueKeys(queue)
        self.wire = wire

    def publish(self, event: str, job_id: str, **facts: object) -> int:
        """Tell an event of a job; how many subscribers heard it, on a cluster those of one node.

        Never repeated: after ``ConnectionLost`` it may have been heard.
        """
        return self.wire.run(events.publish(self.keys, event, job_id, facts))


class EventFeed:
    """Hears the events of some queues. Used by one thread; a context manager that closes it.

    What is told while the connection is broken is lost: when ``gaps`` has grown, read the state of
    what matters. ``unread`` counts messages that were no events.
    """

    def __init__(self, wire: Wire, queues: Sequence[str]) -> None:
        self._names = {QueueKeys(name).events: name for name in queues}
        self._subscription = Subscription(wire, list(self._names))
        self.unread = 0

    @property
    def gaps(self) -> int:
        """How often the connection broke after it was subscribed."""
        return self._subscription.gaps

    def wait_ready(self, seconds: float) -> bool:
        """Wait up to ``seconds`` to be subscribed; from then on nothing is missed."""
        return self._subscription.wait_ready(seconds)

    def next(self, seconds: float) -> QueueEvent | None:
        """The next event, ``None`` when none came in ``seconds``.

        Subscribes on its first call, and anew after a break. Raises ``ServerFault`` when the server
        denies access to the channel.
        """
        heard = self._subscription.hear(seconds)
        if heard is None:
            return None
        channel, raw = heard
        event = events.read(self._names[channel], raw)
        if event is None:
            self.unread += 1
        return event

    def close(self) -> None:
        """Leave the server."""
        self._subscription.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
