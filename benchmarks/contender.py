"""What takes part: a library, how its jobs are sent, how its worker is started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

Send = Callable[[Sequence[Any]], object]
Pack = Callable[[Sequence[str]], Sequence[Any]]
ALL = frozenset({"enqueue", "bulk", "drain", "pickup", "startup", "commands", "memory", "idle"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """How jobs are sent, in the producer's process: one call a payload, or many in one call.

    ``many`` is ``None`` where a library has no way that is better than a loop. ``pack`` makes what
    ``one_by_one`` takes out of payloads, ``pack_many`` what ``many`` takes; neither is timed.
    """

    one_by_one: Send
    many: Send | None = None
    pack: Pack = list
    pack_many: Pack = list


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A library in its fast documented setting.

    ``module`` under ``benchmarks.peers`` holds its job and its ``FEED``. ``worker`` gives the command
    of one worker process for a concurrency. ``pace``: jobs a second that one worker will run at
    least, a guess that sizes the first backlog.
    """

    name: str
    title: str
    note: str
    module: str
    packages: tuple[str, ...] = ()
    worker: Callable[[int], Sequence[str]] | None = None
    uses_django: bool = False
    pace: int = 1000
    questions: frozenset[str] = field(default=ALL)

    def versions(self) -> dict[str, str]:
        """The versions of its packages; ``PackageNotFoundError`` when one is not installed."""
        return {name: version(name) for name in self.packages}

    @property
    def installed(self) -> bool:
        """Whether all its packages are there."""
        try:
            self.versions()
        except PackageNotFoundError:
            return False
        return True
