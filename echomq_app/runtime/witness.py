"""Notes which jobs were run twice: outcomes that were refused, or not sent, because a lease was lost."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, NamedTuple

from echomq_app.protocol.errors import EchoMQError, ServerUnavailable
from echomq_app.runtime.events import Event, Report, silent
from echomq_app.runtime.settling import LEASE_LOST
from echomq_app.service.stale import StaleOutcomes
from echomq_app.wire.link import Wire

MOST_WAITING: Final = 1000
MOST_A_LOOK: Final = 20


class Refused(NamedTuple):
    """An outcome that nobody took, and when its run ended on the monotonic clock."""

    queue: str
    job_id: str
    token: int
    label: str
    reason: str
    seconds: float
    ended_at: float


class Witness:
    """Hears of refused outcomes in the loop's thread, and notes them in another.

    A note that meets no server waits for one, a thousand of them at most. One whose answer is lost
    is not sent again: it may stand there, and must not count twice.
    """

    EVENTS: Final = (Event.SETTLE_REFUSED, Event.OUTCOME_DROPPED)

    def __init__(self, wire: Wire, now: Callable[[], float] = time.monotonic) -> None:
        self.report: Report = silent
        """Where what was seen is told."""
        self.wire = wire
        """Of its own, for whoever waits for no loop."""
        self._now = now
        self._waiting: deque[Refused] = deque(maxlen=MOST_WAITING)

    def __call__(self, event: Event, /, **facts: Any) -> None:
        """Take an event; return at once. Outcomes that were dropped for other reasons are no concern."""
        if event is Event.OUTCOME_DROPPED and facts.get("error") != LEASE_LOST:
            return
        reason = facts.get("reason", "gone" if event is Event.SETTLE_REFUSED else "lost")
        who = (facts["queue"], facts["job"], facts["token"], facts["label"])
        self._waiting.append(Refused(*who, reason, facts["seconds"], self._now()))

    def look(self) -> None:
        """Note some of what waits."""
        for _ in range(min(len(self._waiting), MOST_A_LOOK)):
            refused = self._waiting.popleft()
            try:
                self._note(refused)
            except ServerUnavailable:
                self._waiting.appendleft(refused)
                return
            except EchoMQError:
                continue

    def _note(self, refused: Refused) -> None:
        ended_s = self._now() - refused.ended_at
        other = StaleOutcomes(self.wire, refused.queue).note(
            refused.job_id,
            refused.token,
            refused.label,
            reason=refused.reason,
            ran=timedelta(seconds=max(0.0, refused.seconds)),
            ended=timedelta(seconds=max(0.0, ended_s)),
        )
        if other.token is None:
            return
        facts: dict[str, object] = {"queue": refused.queue, "job": refused.job_id}
        facts |= {"token": refused.token, "label": refused.label}
        facts |= {"other_token": other.token, "other": other.label}
        if other.overlap_ms is not None:
            facts["overlap_s"] = other.overlap_ms / 1000
        self.report(Event.RAN_TWICE, **facts)
