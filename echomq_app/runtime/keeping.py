"""Keeps the leases of one process while it lives and cannot renew them itself."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import Final

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Extension
from echomq_app.protocol.errors import FenceMismatch
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.runtime.ledger import NOTHING_HELD, Entry, Ledger, Page
from echomq_app.service.queue import whole_ms
from echomq_app.wire.link import Wire

AGAIN_S: Final = 1.0
"""How soon a renewal that failed is tried again."""
LONGEST_GAP_S: Final = 5.0
"""More between two looks is time in which the supervisor itself stood still: nobody is blamed for it."""


class Keeping:
    """Reads a process's ledger, and renews what it holds when less than half of a lease is left.

    A process renews its leases every third, so that comes only when it does not.
    """

    def __init__(self, ledger: Ledger, lease: timedelta, now: float) -> None:
        self._ledger = ledger
        self._span_ms = whole_ms(lease)
        self._span_s = lease.total_seconds()
        self._page = NOTHING_HELD
        self._refused: set[str] = set()
        self._kept_until = 0.0
        self._again_at = 0.0
        self._beat = 0.0
        self._looked_at = now
        self.silent_s = 0.0
        """For how long it has not come round its loop, as far as we looked; 0 before its first round."""

    def look(self, now: float) -> Page:
        """What it holds, by the last page that could be read."""
        beat, gap = self._ledger.beaten_at, now - self._looked_at
        self._looked_at = now
        hangs = beat == self._beat != 0.0
        self.silent_s = self.silent_s + min(gap, LONGEST_GAP_S) if hangs else 0.0
        self._beat = beat
        found = self._ledger.page()
        if found is not None and found.version != self._page.version:
            self._page, self._kept_until = found, 0.0
            self._refused.clear()
        return self._page

    def keep(self, wire: Wire, now: float) -> bool:
        """Renew what is held if it is time; whether any of it was. Raises ``FenceMismatch``.

        What has run out already is not renewed: its task was told so.
        """
        ours = [one for one in self._page.entries if one.job_id not in self._refused]
        until = max(self._page.until, self._kept_until)
        if not ours or not until - self._span_s / 2 <= now < until or now < self._again_at:
            return False
        return self._renew(wire, ours, now)

    def _renew(self, wire: Wire, ours: list[Entry], now: float) -> bool:
        claims: dict[str, list[Extension]] = defaultdict(list)
        for one in ours:
            claims[one.queue].append(Extension(one.job_id, one.token, one.label))
        answers = wire.answer(
            [
                calls.extend_many(QueueKeys(queue), self._span_ms, mine)
                for queue, mine in claims.items()
            ]
        )
        for answer in answers:
            if isinstance(answer.error, FenceMismatch):
                raise answer.error
        if any(answer.error is not None for answer in answers):
            self._again_at = now + AGAIN_S
            return False
        self._refused.update(job_id for answer in answers for job_id in answer.unwrap())
        self._kept_until = now + self._span_s
        self._ledger.keep(self._kept_until, self._refused)
        return any(one.job_id not in self._refused for one in ours)
