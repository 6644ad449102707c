"""What a loop knows of each queue it serves, and which it asks next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.order import InTurn, Order
from echomq_app.service.queue import Queue

AWAY_PAUSE_S = 1.0
"""How long a queue whose server does not answer is left alone."""
TOLD_AFTER_S: Final = (60.0, 300.0, 1800.0)
"""How long after it began an absence is told again; from then on each hour."""
EACH_HOUR_S: Final = 3600.0


@dataclass(slots=True)
class Served:
    """One queue. Times are the loop's clock, in seconds."""

    queue: Queue
    beat_at: float = 0.0
    hungry: bool = True
    """Whether a claim may find something: a token woke us, or the last claim came up full."""
    away: bool = False
    """Its server did not answer when it was last asked."""
    ask_at: float = 0.0
    """When a server that is away is asked again."""
    broken: str = ""
    """The last error that its keys gave, so that it is told once."""
    carry_at: float = 0.0
    """When its outbox may be carried again."""
    uncarried: str = ""
    """The last error that carrying its outbox met, so that it is told once."""

    def wants(self, now: float) -> bool:
        """Whether there is a reason to speak to it."""
        return self.reachable(now) and (self.hungry or self.away or now >= self.beat_at)

    def reachable(self, now: float) -> bool:
        return not self.away or now >= self.ask_at

    @property
    def due(self) -> float:
        """When it wants a look by itself."""
        return self.ask_at if self.away else self.beat_at

    def look_within(self, seconds: float, now: float) -> None:
        """Something falls due sooner than the beat."""
        self.beat_at = min(self.beat_at, now + seconds)


class Absence:
    """For how long nobody has answered, and when that is told again: ever more rarely."""

    def __init__(self, now: float) -> None:
        self.since = now
        self._told = 0

    def is_news(self, now: float) -> bool:
        """Whether it has lasted so long that it is told again."""
        if now - self.since < self._next_s:
            return False
        while now - self.since >= self._next_s:
            self._told += 1
        return True

    @property
    def _next_s(self) -> float:
        more = self._told - len(TOLD_AFTER_S)
        return TOLD_AFTER_S[self._told] if more < 0 else EACH_HOUR_S * (more + 1)


class Round:
    """All queues of one loop. A server's absence is told, ever more rarely, and its return once."""

    def __init__(
        self,
        queues: Sequence[Queue],
        clustered: bool,
        report: Report,
        order: Order | None = None,
    ) -> None:
        """``order``: how queues share the loop; in turn unless told otherwise."""
        self._served = {queue.name: Served(queue) for queue in queues}
        self._clustered = clustered
        self._report = report
        self._order = order or InTurn()
        self._absence = Absence(0.0)

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served.values())

    def __getitem__(self, name: str) -> Served:
        return self._served[name]

    def in_turn(self, now: float) -> list[Served]:
        """Queues to speak to, in the order in which to ask them for jobs."""
        wanting = [one for one in self if one.wants(now)]
        if len(self._served) == 1:
            return wanting
        return [self[name] for name in self._order.sort([one.queue.name for one in wanting])]

    def portion(self, served: Served, later: Iterable[Served], room: int) -> int:
        """For how many jobs to ask a queue whose turn it is, with free slots for ``room``."""
        if len(self._served) == 1 or not room:
            return room
        return self._order.portion(served.queue.name, [one.queue.name for one in later], room)

    def took(self, served: Served, jobs: int, size: int) -> None:
        """A queue was asked for ``size`` jobs, none perhaps, and gave so many: its turn is over."""
        served.hungry = jobs >= size
        if size:
            self._order.took(served.queue.name, jobs, served.hungry)

    def was_deaf(self) -> None:
        """Nobody listened for tokens: any queue may have jobs, and a thorough order asks."""
        if self._order.thorough:
            for one in self:
                one.hungry = True

    def is_away(self, served: Served, why: Exception, now: float) -> Iterable[Served]:
        """The queue's server gave no answer; the queues that are away with it."""
        hit: Iterable[Served] = [served] if self._clustered else self
        if not any(one.away for one in self):
            self._absence = Absence(now)
            self._report(Event.SERVER_AWAY, error=str(why))
        elif self._absence.is_news(now):
            seconds = round(now - self._absence.since)
            self._report(Event.SERVER_STILL_AWAY, seconds=seconds, error=str(why))
        for one in hit:
            one.away, one.hungry, one.ask_at = True, True, now + AWAY_PAUSE_S
        return hit

    def is_broken(self, served: Served, why: str) -> None:
        """Its keys, or a job on it, cannot be worked with."""
        if served.broken != why:
            served.broken = why
            self._report(Event.QUEUE_BROKEN, queue=served.queue.name, error=why)

    def is_back(self, served: Served, now: float) -> None:
        """The queue's server answered."""
        if not served.away:
            return
        for one in [served] if self._clustered else self:
            one.away = False
        if not any(one.away for one in self):
            self._report(Event.SERVER_BACK, seconds=round(now - self._absence.since, 1))
