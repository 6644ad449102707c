"""In which order a loop asks its queues for jobs, and for how many of its free slots each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol


class Order(Protocol):
    """Knows queues by their names. Asks nobody; it is told what they gave.

    ``thorough``: after all slots were taken every queue is asked again, as if each had news. A full
    worker listens to none of them.
    """

    thorough: bool

    def sort(self, names: Collection[str]) -> Sequence[str]:
        """Those there is a reason to ask now, the first to ask first."""

    def portion(self, name: str, later: Collection[str], room: int) -> int:
        """For how many jobs to ask a queue, of ``room``. ``later``: whose turn comes after it."""

    def took(self, name: str, jobs: int, more: bool) -> None:
        """A queue was asked and gave so many; ``more``: as many as it was asked for."""


class InTurn:
    """The queue that has not been asked for longest comes first, for all the room there is."""

    thorough = False

    def __init__(self) -> None:
        self._claims = 0
        self._asked: dict[str, int] = {}

    def sort(self, names: Collection[str]) -> Sequence[str]:
        return sorted(names, key=lambda name: self._asked.get(name, 0))

    def portion(self, name: str, later: Collection[str], room: int) -> int:
        return room

    def took(self, name: str, jobs: int, more: bool) -> None:
        self._claims += 1
        self._asked[name] = self._claims


class Strict:
    """A later queue is asked only when those before it have nothing more to give."""

    thorough = True

    def __init__(self, names: Sequence[str]) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._giving: set[str] = set()

    def sort(self, names: Collection[str]) -> Sequence[str]:
        self._giving = set(names)
        return sorted(names, key=self._places.__getitem__)

    def portion(self, name: str, later: Collection[str], room: int) -> int:
        mine = self._places[name]
        return 0 if any(self._places[other] < mine for other in self._giving) else room

    def took(self, name: str, jobs: int, more: bool) -> None:
        if not more:
            self._giving.discard(name)


class Weighted:
    """Of queues that all have jobs, each gets its weight's share of them run; what one leaves, others get.

    A job adds to its queue's count one divided by the weight, and the lowest count comes first: none
    waits for ever. A queue without jobs saves nothing up.
    """

    thorough = False

    def __init__(self, weights: Mapping[str, int]) -> None:
        """``weights``: of every queue there is, each 1 or more."""
        self._weights = weights
        self._counts = dict.fromkeys(weights, 0.0)
        self._dry = set(weights)
        """Those that gave less than they were asked for, or were not to be asked."""

    def sort(self, names: Collection[str]) -> Sequence[str]:
        counts, dry = self._counts, self._dry
        dry.update(name for name in counts if name not in names)
        lowest = min((count for name, count in counts.items() if name not in dry), default=0.0)
        for name in dry:
            counts[name] = max(counts[name], lowest)
        return sorted(names, key=lambda name: (counts[name], name not in dry, -self._weights[name]))

    def portion(self, name: str, later: Collection[str], room: int) -> int:
        mine = self._weights[name]
        others = sum(self._weights[other] for other in later if other not in self._dry)
        return -(-room * mine // (mine + others))

    def took(self, name: str, jobs: int, more: bool) -> None:
        self._counts[name] += jobs / self._weights[name]
        if more:
            self._dry.discard(name)
        else:
            self._dry.add(name)
