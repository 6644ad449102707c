"""What must be true of a queue's lanes: who waits and runs in each, and which can be served."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.model.lives import WAITING
from tests.model.truth import Truth


@dataclass
class LaneTruth(Truth):
    """The queue with its lanes. Whose turn it is, the server tells; that it can be served is held here."""

    parked: set[str] = field(default_factory=set)
    limits: dict[str, int] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)

    def running_in(self, group: str) -> int:
        return sum(life.group == group for life in self.at("active"))

    def room_of(self, group: str) -> int:
        """How many more jobs of a lane may run."""
        return self.limits.get(group, 1000) - self.running_in(group)

    def servable(self) -> set[str]:
        """The lanes that have work, are not parked and are below their ceilings."""
        lanes = {life.group for life in self.at(WAITING) if life.group} - self.parked
        return {group for group in lanes if self.room_of(group) > 0}

    def lane_enqueue(self, job_id: str, raw: bytes, group: str) -> int:
        if job_id in self.lives or self.retained.standing(job_id):
            return 0
        return self._admit(job_id, raw, WAITING, group=group)

    def lane_claim(self, lease_ms: int, size: int, label: str, told: str) -> list[Any]:
        """``told``: the lane that was served; it must be one that could be, and none only when none could."""
        lanes = self.servable()
        if self.paused or not lanes:
            return []
        if told not in lanes:
            return [f"a job of one of {sorted(lanes)}"]
        jobs = []
        for _ in range(min(size, self.room_of(told))):
            life = next(self._pop(f"g:{told}:pending"), None)
            if life is None:
                break
            claim = self._take(life, label)
            counted = (str(life.excused), str(life.lapses), told)
            jobs.append([life.job_id, life.payload, claim.token, *counted])
        return jobs

    def lane_claim_weighted(self, lease_ms: int, size: int, label: str, told: str) -> list[Any]:
        return self.lane_claim(lease_ms, min(size, self.weights.get(told, 1)), label, told)

    def foreign_lane_claim(self, told: str) -> list[Any]:
        lanes = self.servable()
        if not lanes:
            return []
        if told not in lanes:
            return [f"a job of one of {sorted(lanes)}"]
        life = next(self._pop(f"g:{told}:pending"))
        assert life is not None
        return [life.job_id, life.payload, self._take(life, "").token, told]

    def lane_pause(self, group: str) -> int:
        changed = group not in self.parked
        self.parked.add(group)
        return int(changed)

    def lane_resume(self, group: str) -> int:
        changed = group in self.parked
        self.parked.discard(group)
        return int(changed)

    def lane_limit(self, group: str, limit: int) -> int:
        self.limits[group] = limit
        if not limit:
            del self.limits[group]
        return 1

    def lane_weight(self, group: str, weight: int) -> int:
        self.weights[group] = weight
        if not weight:
            del self.weights[group]
        return 1

    def lane_reassign(self, job_id: str, group: str) -> int:
        life = self.lives.get(job_id)
        if life is None or not life.group:
            return -1
        if life.group == group:
            return 0
        if life.place != WAITING:
            return -2
        life.group = group
        return 1

    def lane_drain(self, group: str, limit: int, label: str, receipt_ms: int) -> int:
        waiting = [life for life in self.at(WAITING) if life.group == group]
        for life in waiting:
            self._end(life)
            self._forget_subkeys(life.job_id)
            if receipt_ms:
                self.retained.keep_receipt(life.job_id, life.mark, life.attempts, label)
        return len(waiting)

    def lane_reap(self, group: str, limit: int, offset: int) -> list[int]:
        lapsed = [life for life in self.at("active") if life.over]
        ghosts = [at for at in self.ghosts.values() if at == ("active", True)]
        mine = [life for life in lapsed if life.group == group]
        for life in mine:
            life.lapses += 1
            life.wait()
        return [len(mine), len(lapsed) + len(ghosts)]
