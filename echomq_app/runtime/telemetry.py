"""Listeners in this process to what its loops do, under the protocol's names (4.21).

A loop that nobody listens to is not slowed: whoever starts it passes ``telemetry`` as its report,
or among its reports, when somebody is attached.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from echomq_app.runtime.events import Event

Listener = Callable[[str, Mapping[str, object]], object]
"""Takes an event's name and its facts. Called in the loop's thread: be quick."""

NAMES: Final[Mapping[Event, str]] = {
    Event.CLAIMED: "job.start",
    Event.COMPLETED: "job.complete",
    Event.RETRIED: "job.retry",
    Event.BURIED: "job.fail",
    Event.STARTED: "worker.start",
    Event.STOPPED: "worker.stop",
    Event.SERVER_AWAY: "connector.disconnection",
    Event.SERVER_BACK: "connector.reconnect",
}
_logger = logging.getLogger("echomq.telemetry")


class _Attached(NamedTuple):
    listener: Listener
    names: frozenset[str]


class Telemetry:
    """A report that hands events on to the listeners that are attached. Safe across threads."""

    def __init__(self) -> None:
        self._attached: tuple[_Attached, ...] = ()

    def __bool__(self) -> bool:
        """Whether anybody listens."""
        return bool(self._attached)

    def attach(self, listener: Listener, *names: str) -> Callable[[], None]:
        """Call ``listener`` for the named events, for all when none is named; what detaches it.

        A listener that raises is detached, and the log says so: it never harms the loop.
        """
        known = frozenset(NAMES.values())
        if strangers := set(names) - known:
            raise ValueError(
                f"no event is named {sorted(strangers)[0]!r}; there are {', '.join(sorted(known))}"
            )
        attached = _Attached(listener, frozenset(names) or known)
        self._attached = (*self._attached, attached)
        return lambda: self._detach(attached)

    def _detach(self, attached: _Attached) -> None:
        self._attached = tuple(one for one in self._attached if one is not attached)

    def __call__(self, event: Event, /, **facts: object) -> None:
        """Tell whoever listens to this event."""
        name = NAMES.get(event)
        for attached in self._attached if name else ():
            if name in attached.names:
                try:
                    attached.listener(name, facts)
                except Exception:
                    self._detach(attached)
                    _logger.exception("a listener to %s raised and is detached", name)


telemetry: Final = Telemetry()
"""The listeners of this process."""
