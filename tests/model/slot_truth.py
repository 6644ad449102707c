"""What must be true of schedules, in plain Python: it judges by which writing was seen, not by words.

A *writing* is one version of a schedule; a *life* goes from a first writing to a removal. Slots are
whole hours, counted; ``now`` is the hour that the server's clock is in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(eq=False)
class Writing:
    """A version of a schedule, and the life that it belongs to."""

    name: str
    template: str
    life: int


class Run(NamedTuple):
    """A job that the server has admitted: for which slot of which life, by which template."""

    name: str
    life: int
    slot: int
    template: str


@dataclass
class SlotTruth:
    """The schedules as they must be. Each method is a script as the server executed it."""

    now: int = 0
    lives: int = 0
    writings: dict[str, Writing] = field(default_factory=dict)
    stands: dict[str, Writing] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)
    known_ids: dict[str, str] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)

    def slot_write(
        self,
        name: str,
        template: str,
        revision: str,
        due: int,
        seen_revision: str,
        seen_due: int | None,
    ) -> int:
        standing = self.stands.get(name)
        if standing is not None and standing is self.writings.get(revision):
            return 1
        seen = self.writings.get(seen_revision)
        if standing is not seen or self.due.get(name) != seen_due:
            return 0
        self.lives += standing is None
        life = standing.life if standing else self.lives
        self.writings[revision] = self.stands[name] = Writing(name, template, life)
        self.due[name] = due
        return 1

    def slot_remove(self, name: str, revision: str) -> int:
        standing = self.stands.get(name)
        if standing is None or (revision and standing is not self.writings.get(revision)):
            return 0
        del self.stands[name], self.due[name]
        return 1

    def slot_fire(
        self,
        name: str,
        due: int,
        revision: str,
        last: int,
        following: int,
        every: bool,
        job_id: str,
        payload: str,
    ) -> int:
        if job_id in self.known_ids:
            return 0
        standing = self.stands.get(name)
        if standing is None or standing is not self.writings.get(revision):
            return -1
        if self.due[name] != due:
            return -1
        if due > self.now:
            return -2
        if not every and not last <= self.now < following:
            return -3
        self.known_ids[job_id] = payload
        self.due[name] = following
        return 1

    def ran(self, name: str, template: str, slot: int) -> None:
        """A job has been admitted: it must be the first of its slot, by the template that stands."""
        standing = self.stands.get(name)
        assert standing is not None, f"a job of {name} was admitted, and there is no {name}"
        assert template == standing.template, (
            f"a job of {name} was admitted by {template}, and {standing.template} stands"
        )
        assert slot <= self.now, f"{name} fired slot {slot} at {self.now}"
        run = Run(name, standing.life, slot, template)
        doubled = [one for one in self.runs if one[:3] == run[:3]]
        assert not doubled, f"slot {slot} of {name} ran twice: {doubled[0]}, then {run}"
        self.runs.append(run)

    def due_now(self) -> list[tuple[str, int, str, str]]:
        """Name, slot, revision and template of what is due, the longest due first."""
        revisions = {id(writing): revision for revision, writing in self.writings.items()}
        found = [
            (name, slot, revisions[id(self.stands[name])], self.stands[name].template)
            for name, slot in self.due.items()
            if slot <= self.now
        ]
        return sorted(found, key=lambda one: (one[1], one[0].encode()))

    def answers(self, verb: str, words: list[Any]) -> int:
        """What the script must have replied; times are counted hours."""
        return int(getattr(self, verb)(*words))
