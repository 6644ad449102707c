"""What loops tell: names and facts. Whoever starts a loop decides how they are worded."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol


class Event(StrEnum):
    """The name of something that a loop tells."""

    STARTED = "started"
    QUEUE_UNNAMED = "queue_unnamed"
    MAY_EVICT = "may_evict"
    CLAIMED = "claimed"
    COMPLETED = "completed"
    TALLIED = "tallied"
    RETRIED = "retried"
    BURIED = "buried"
    RELEASED = "released"
    DELAYED = "delayed"
    LEASE_LOST = "lease_lost"
    SETTLE_REFUSED = "settle_refused"
    SETTLE_UNKNOWN = "settle_unknown"
    OUTCOME_DROPPED = "outcome_dropped"
    RAN_TWICE = "ran_twice"
    CLAIM_LOST = "claim_lost"
    QUEUE_BROKEN = "queue_broken"
    SERVER_AWAY = "server_away"
    SERVER_STILL_AWAY = "server_still_away"
    SERVER_BACK = "server_back"
    SWEPT = "swept"
    CARRIED = "carried"
    BATCH_DONE = "batch_done"
    LIMIT_UNKEPT = "limit_unkept"
    RECYCLING = "recycling"
    RELOADING = "reloading"
    PROCESS_STARTED = "process_started"
    PROCESS_UNBORN = "process_unborn"
    PROCESS_ENDED = "process_ended"
    PROCESS_DIED = "process_died"
    LEASES_KEPT = "leases_kept"
    LIMIT_PASSED = "limit_passed"
    PROCESS_HUNG = "process_hung"
    PROCESS_LATE = "process_late"
    JOBS_FREED = "jobs_freed"
    SURVEYED = "surveyed"
    RUNNING = "running"
    HEALTH_AT = "health_at"
    HEALTH_UNTOLD = "health_untold"
    STUCK = "stuck"
    WISHED = "wished"
    DRAINING = "draining"
    STOPPED = "stopped"


class Report(Protocol):
    """Takes an event and its facts: queue, job, task, seconds, counts, errors."""

    def __call__(self, event: Event, /, **facts: object) -> None: ...


def told_to(*reports: Report) -> Report:
    """A report that tells all of these, in their order; the only one itself."""
    if len(reports) == 1:
        return reports[0]

    def tell(event: Event, /, **facts: object) -> None:
        for report in reports:
            report(event, **facts)

    return tell


def silent(_: Event, /, **facts: object) -> None:
    """A report for nobody."""


NOBODY: Final[Mapping[Event, Report]] = MappingProxyType({})
