"""Outcomes that were refused because another claim had the job: what ran twice, as far as known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from echomq_app.protocol import calls, replies
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.replies import OtherClaim
from echomq_app.service.plans import Plan
from echomq_app.service.queue import whole_ms
from echomq_app.service.records import moment
from echomq_app.wire.link import Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleOutcome:
    """An outcome that was refused. ``ran``: for how long its job had run under that claim.

    The other claim is as the job's row or its receipt told when this was noted: no token when nothing
    told of one. ``overlap``: for how long both ran at most, ``None`` when nothing told.
    """

    job_id: str
    token: int
    label: str
    reason: str
    ran: timedelta
    at: datetime | None
    other_token: int | None
    other_label: str
    overlap: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleReport:
    """How many there were in all, and the newest hundred of the last month, newest first."""

    count: int
    newest: Sequence[StaleOutcome]


class StaleOutcomes:
    """The refused outcomes of one queue."""

    def __init__(self, wire: Wire, name: str) -> None:
        self.keys = QueueKeys(name)
        self.wire = wire

    def note(
        self,
        job_id: str,
        token: int,
        label: str,
        *,
        reason: str,
        ran: timedelta,
        ended: timedelta = timedelta(),
    ) -> OtherClaim:
        """Note one whose run ``ended`` so long ago; who has the job, or has ended it.

        Not repeated after a lost reply, which raises ``ConnectionLost``: it may be noted.
        """
        return self.wire.run(
            calls.note_stale(
                self.keys,
                job_id,
                token,
                label,
                reason=reason,
                ran_ms=whole_ms(ran),
                ended_ms=whole_ms(ended),
            )
        )

    def report(self) -> StaleReport:
        """Count and newest, in one round trip."""
        return self.wire.follow(report(self.keys))


def count(keys: QueueKeys) -> calls.Call[int]:
    """How many outcomes of a queue were refused."""
    key = keys.stale_counter
    return calls.command(key, "HGET", key, "count", read=_count)


def _count(raw: Any) -> int:
    return int(raw) if raw is not None else 0


def report(keys: QueueKeys) -> Plan[StaleReport]:
    """Both keys together."""
    key = keys.stale
    answers = yield (count(keys), calls.command(key, "LRANGE", key, 0, -1, read=_notes))
    return StaleReport(count=answers[0].unwrap(), newest=answers[1].unwrap())


def _notes(raw: Any) -> list[StaleOutcome]:
    """What another program has put there is passed over."""
    return [one for one in map(_note, raw) if one is not None]


def _note(raw: Any) -> StaleOutcome | None:
    try:
        told = json.loads(replies.text(raw))
        overlap = told.get("overlap_ms")
        other = told.get("other_token")
        return StaleOutcome(
            job_id=str(told["job"]),
            token=int(told["token"]),
            label=str(told["label"]),
            reason=str(told["reason"]),
            ran=timedelta(milliseconds=told["ran_ms"]),
            at=moment(told["at"]),
            other_token=None if other is None else int(other),
            other_label=str(told.get("other_label", "")),
            overlap=None if overlap is None else timedelta(milliseconds=overlap),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None
