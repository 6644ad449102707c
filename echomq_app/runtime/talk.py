"""What a worker says to a server in one pipeline, and what runs its jobs meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from echomq_app.protocol.calls import Call
from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Ended
from echomq_app.runtime.served import Served
from echomq_app.runtime.settling import Settle
from echomq_app.wire.link import Pending


class Executor(Protocol):
    """Runs jobs elsewhere: takes them at once, and hands their outcomes back when asked.

    ``ring_after``: how many outcomes are worth waking the loop for while more jobs wait.
    """

    ring_after: int
    call: Callable[[], None]

    def submit(self, jobs: Iterable[Held]) -> None: ...

    def finished(self) -> list[Ended]: ...

    def take_back(self) -> list[Held]: ...


class Claim(NamedTuple):
    """A beat or a claim of ``size`` jobs at most; ``swept``: it promoted and reaped first."""

    served: Served
    size: int
    swept: bool
    label: str
    call: Call[Any]


@dataclass(frozen=True, slots=True)
class Talk:
    """Settles, then a claim, that were sent together at ``at`` on the worker's clock.

    ``asked``: whose queue each of ``pending`` answers for.
    """

    settles: Sequence[Settle]
    claim: Claim | None
    asked: Sequence[Served]
    pending: Pending
    at: float
