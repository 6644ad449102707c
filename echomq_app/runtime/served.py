"""What a loop knows of each queue it serves, and which it asks next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from echomq_app.runtime.events import Event, Report
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
    asked: int = 0
    """When it was last asked for jobs, counted in claims."""
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

    def __init__(self, queues: Sequence[Queue], clustered: bool, report: Report) -> None:
        self._served = {queue.name: Served(queue) for queue in queues}
        self._clustered = clustered
        self._report = report
        self._asked = 0
        self._absence = Absence(0.0)

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served.values())

    def __getitem__(self, name: str) -> Served:
        return self._served[name]

    def in_turn(self, now: float) -> list[Served]:
        """Queues to speak to, the one that waited longest first, so that none starves."""
        return sorted((one for one in self if one.wants(now)), key=lambda one: one.asked)

    def asked(self, served: Served) -> None:
        """Its turn is over."""
        self._asked += 1
        served.asked = self._asked

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
