"""When a batch is taken, what came of each of its jobs, and where each went: decisions without I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from echomq_app.protocol.calls import MAX_CLAIMS
from echomq_app.protocol.errors import InvalidInput
from echomq_app.runtime.events import Event
from echomq_app.runtime.outcomes import Outcome
from echomq_app.service.records import Lease

MISSING: Final = "missing verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A batch is taken at ``floor`` jobs, or ``timeout`` after the first of fewer was seen.

    It is never more than ``ceiling`` jobs.
    """

    floor: int = 1
    ceiling: int = 100
    timeout: timedelta = timedelta(seconds=1)

    def __post_init__(self) -> None:
        if not 1 <= self.floor <= self.ceiling <= MAX_CLAIMS:
            raise InvalidInput(
                f"a batch has 1 <= floor <= ceiling <= {MAX_CLAIMS}; got floor {self.floor}, "
                f"ceiling {self.ceiling}"
            )
        if self.timeout < timedelta():
            raise InvalidInput(f"a batch waits for no time or more; got {self.timeout}")


def size_now(shape: Shape, depth: int, waited: timedelta) -> int:
    """How many of ``depth`` waiting jobs to take now; 0 is to wait for more."""
    enough = depth >= shape.floor or waited >= shape.timeout
    return min(depth, shape.ceiling) if enough else 0


class Window:
    """How long jobs have waited for company. It opens with the first job that is seen, never before."""

    def __init__(self) -> None:
        self._since: float | None = None

    def waited(self, depth: int, now: float) -> timedelta:
        """How long there have been jobs, on the clock ``now``, in seconds."""
        if depth == 0:
            self._since = None
        elif self._since is None:
            self._since = now
        return timedelta(seconds=0.0 if self._since is None else now - self._since)

    def restart(self) -> None:
        """A batch was taken; what is left, or comes, waits anew."""
        self._since = None


def verdict_of_each(
    batch: Sequence[Lease], verdicts: Mapping[str, Outcome], failed: Callable[[str], Outcome]
) -> list[tuple[Lease, Outcome]]:
    """Each job of the batch with its verdict; without one it has ``failed``, and is not completed.

    Verdicts on jobs that are not in the batch are nobody's to give.
    """
    ends = []
    for held in batch:
        verdict: object = verdicts.get(held.job_id)
        if isinstance(verdict, Outcome):
            ends.append((held, verdict))
        elif verdict is None:
            ends.append((held, failed(MISSING)))
        else:
            ends.append((held, failed(f"a verdict is an outcome; got {verdict!r:.100}")))
    return ends


class Buckets(NamedTuple):
    """The jobs of a batch by what became of them; each is in one bucket alone."""

    completed: tuple[str, ...]
    retried: tuple[str, ...]
    dead: tuple[str, ...]
    delayed: tuple[str, ...]
    released: tuple[str, ...]
    refused: tuple[str, ...]
    """Somebody else holds the job, or nobody can tell."""


_BUCKETS: Final = (
    Event.COMPLETED,
    Event.RETRIED,
    Event.BURIED,
    Event.DELAYED,
    Event.RELEASED,
)


def partition(ends: Iterable[tuple[str, Event]]) -> Buckets:
    """Sort jobs by the event that told their end, in their order."""
    found: dict[Event | None, list[str]] = {name: [] for name in (*_BUCKETS, None)}
    for job_id, event in ends:
        found[event if event in _BUCKETS else None].append(job_id)
    return Buckets(*(tuple(jobs) for jobs in found.values()))
