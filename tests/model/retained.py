"""What ended jobs must have left: receipts and outcomes, and their lists (decision 11)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A receipt, or an outcome when ``outcome`` is there.

    ``until``: for outcomes, what orders their ends. ``over``: its time is past, the key is gone and
    only the lists still name it.
    """

    mark: str
    token: int
    label: str
    outcome: bytes | None = None
    until: int = 0
    over: bool = False


@dataclass
class Retained:
    kept: dict[str, Kept] = field(default_factory=dict)

    def standing(self, job_id: str) -> Kept | None:
        found = self.kept.get(job_id)
        return found if found is not None and not found.over else None

    def keep_receipt(self, job_id: str, mark: str, token: int, label: str) -> None:
        self.kept[job_id] = Kept(mark=mark, token=token, label=label)

    def keep_outcome(
        self, job_id: str, mark: str, token: int, label: str, outcome: bytes, until: int
    ) -> None:
        self.kept[job_id] = Kept(mark=mark, token=token, label=label, outcome=outcome, until=until)

    def outcomes(self) -> list[str]:
        """The listed outcomes, the soonest to end first."""
        listed = [job_id for job_id, kept in self.kept.items() if kept.outcome is not None]
        return sorted(listed, key=lambda job_id: (self.kept[job_id].until, job_id))

    def bound(self, limit: int) -> None:
        """Outcomes over the limit shrink to their receipts; those that are over vanish."""
        listed = self.outcomes()
        for job_id in listed[: max(0, len(listed) - limit)][:16]:
            if self.kept[job_id].over:
                self.drop(job_id)
            else:
                self.kept[job_id] = replace(self.kept[job_id], outcome=None, until=0)

    def drop(self, job_id: str) -> None:
        self.kept.pop(job_id, None)

    def expire(self, job_id: str) -> None:
        self.kept[job_id] = replace(self.kept[job_id], over=True, until=0)

    def trim(self) -> int:
        due = [job_id for job_id, kept in self.kept.items() if kept.over]
        for job_id in due:
            self.drop(job_id)
        return len(due)
