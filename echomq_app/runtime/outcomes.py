"""What can come of running a job. The worker turns each into one settle call."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from echomq_app.protocol.calls import NOTHING, Retention
from echomq_app.runtime.held import Held


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """It ran to its end, or it is over for another good reason; ``keep`` says what stays."""

    keep: Retention = field(default=NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It raised: again after ``delay``, or dead after ``max_attempts`` (0: dead at once)."""

    error: str
    report: bytes | None
    delay: timedelta
    max_attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Back to its waiting set at once; the claim does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed:
    """Parked for ``delay``; the claim does not count."""

    delay: timedelta
    why: str


Outcome = Completed | Failed | Released | Delayed


class Ended(NamedTuple):
    """A run that is over, and for how long it ran."""

    held: Held
    outcome: Outcome
    seconds: float
