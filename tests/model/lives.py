"""A queue's jobs in plain Python: lives, claims, ghosts, and what the server refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from echomq_app.protocol import payload

WAITING = "pending"
STATES = {"pending": "pending", "active": "active", "schedule": "scheduled", "dead": "dead"}
FAR_PAST_MS = 10**11
"""A run-at below this is due at once; every other one of the machine is years or an hour away."""


class Refused(NamedTuple):
    """An error reply: its code, and for EMQSTALE whether the word after it is ``parked``."""

    code: str
    parked: bool = False


@dataclass(eq=False)
class Claim:
    """A lease of a life. ``settled``: the verb by which its own holder ended it."""

    life: Life
    token: int
    label: str
    settled: str = ""


@dataclass(eq=False)
class Life:
    """One admission of an id. ``over``: its lease has lapsed, or its run-at is due."""

    job_id: str
    payload: bytes
    place: str
    group: str = ""
    attempts: int = 0
    excused: int = 0
    lapses: int = 0
    over: bool = False
    claim: Claim | None = None
    worker: str = ""
    settled: tuple[str, str, str] | None = None
    requeued: str | None = None
    last_error: str | None = None
    progress: str | None = None

    @property
    def mark(self) -> str:
        return payload.mark(self.payload)

    @property
    def set_name(self) -> str:
        return f"g:{self.group}:pending" if self.group and self.place == WAITING else self.place

    def tells_of(self, token: str, verb: str, label: str) -> bool:
        """Whether that very settle has happened, and nobody has claimed the job since."""
        return self.settled == (token, verb, label) and self.attempts == int(token)

    def wait(self) -> None:
        self.place, self.over = WAITING, False


class Ghost(NamedTuple):
    """A member of a set whose row another program has deleted. ``over`` as in ``Life``."""

    set_name: str
    over: bool
