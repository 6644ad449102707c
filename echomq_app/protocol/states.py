"""The words of the protocol: where a job can be, and what a verb can answer."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a job is, judged by the sets. The set is ``schedule``, the state ``scheduled``."""

    PENDING = "pending"
    ACTIVE = "active"
    SCHEDULED = "scheduled"
    DEAD = "dead"
    AWAITING_CHILDREN = "awaiting_children"
    DONE = "done"
    UNKNOWN = "unknown"
    ABSENT = "absent"


class JobSet(StrEnum):
    """The four sets and ``done``; the value is the key's last word."""

    PENDING = "pending"
    ACTIVE = "active"
    SCHEDULE = "schedule"
    DEAD = "dead"
    DONE = "done"

    @property
    def scored_by_clock(self) -> bool:
        """Whether the set's own order is a clock's and not mint order (decision 18)."""
        return self in (JobSet.ACTIVE, JobSet.SCHEDULE)


class Admission(StrEnum):
    """What an admission came to."""

    ADMITTED = "admitted"
    DUPLICATE = "duplicate"
    WRONG_KIND = "wrong_kind"
    COLLISION = "collision"


class Completion(StrEnum):
    """What a completion came to."""

    COMPLETED = "completed"
    GONE = "gone"


class Retried(StrEnum):
    """Where a failed job went."""

    SCHEDULED = "scheduled"
    DEAD = "dead"


class Fate(StrEnum):
    """How a child of a flow ended, in the outbox's words."""

    DONE = "done"
    FAILS = "fp"
    """It died, and its parent dies of it."""
    IGNORED = "id"
    """It died, and its parent goes on without it."""


class Requeued(StrEnum):
    """What a requeue came to."""

    REQUEUED = "requeued"
    NOT_DEAD = "not_dead"
    GONE = "gone"


class Reassigned(StrEnum):
    """What it came to when a job was moved to another lane."""

    MOVED = "moved"
    NOOP = "noop"
    """It is in that lane already."""
    NOT_FOUND = "not_found"
    """There is no such job, or it has no lane."""
    NOT_PENDING = "not_pending"
    """It does not wait: it runs, is parked or is dead."""


class SlotFiring(StrEnum):
    """What firing a slot came to."""

    FIRED = "fired"
    DUPLICATE = "duplicate"
    """The id is known already."""
    MOVED = "moved"
    """Somebody has fired the slot, or written or removed the schedule."""
    EARLY = "early"
    """The slot is not due by the server's clock."""
    OFF = "off"
    """The server's clock is not between the slots that the caller computed."""


class Repeat(StrEnum):
    """Whether a call may be sent again when its reply was lost."""

    SAFE = "safe"
    """A second execution changes nothing that the first one has not changed."""
    NEVER = "never"
    """A second execution is a second act: only the caller can decide."""


class Wish(StrEnum):
    """What an operator may wish of a worker."""

    QUIET = "quiet"
    """Claim nothing more, and stay."""
    SERVE = "serve"
    """Claim again."""
    STOP = "stop"
    """Leave, as at a first TERM."""


class StreamStart(StrEnum):
    """Where a new consumer group of a stream starts; the value is the server's word."""

    OLDEST = "0"
    NEW = "$"
