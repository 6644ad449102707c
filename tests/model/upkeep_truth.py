"""What must be true of verbs that an operator says to a whole queue, and of a ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.model.lane_truth import LaneTruth
from tests.model.lives import WAITING, Refused
from tests.model.retained import Retained


@dataclass
class KeptTruth(LaneTruth):
    """The queue as it must be, with those who keep house in it."""

    ceiling: int | None = None

    def drain(self, limit: int, scheduled: str, label: str, receipt_ms: int) -> int:
        ended = {life.job_id for life in self.at(WAITING)} | self.of(WAITING)
        if scheduled:
            ended |= self.of("schedule")
        assert len(ended) < limit, "the machine drains no more than a page"
        for job_id in ended:
            self.ghosts.pop(job_id, None)
            self._forget_subkeys(job_id)
            life = self.lives.pop(job_id, None)
            if life is not None and receipt_ms:
                self.retained.keep_receipt(job_id, life.mark, life.attempts, label)
        return len(ended)

    def obliterate(self, force: str, budget: int) -> Any:
        """All goes but the logs and errors of rows that another program deleted: no book names those."""
        assert self.paused, "the machine obliterates paused queues alone"
        if self.of("active") and not force:
            return Refused("EMQSTATE")
        for job_id in {*self.lives, *self.ghosts, *self.retained.kept}:
            self._forget_subkeys(job_id)
        for kept in (self.lives, self.ghosts, self.limits, self.weights, self.parked):
            kept.clear()
        self.retained = Retained()
        self.paused, self.ceiling, self.completed, self.failed = False, None, 0, 0
        return 0

    def update_data(self, job_id: str, payload: bytes) -> Any:
        life = self.lives.get(job_id)
        if life is None:
            return -1
        if life.place == "active":
            return Refused("EMQLOCK")
        life.payload = payload
        return 1

    def rate_consult(self, lease_ms: int, size: int, label: str) -> Any:
        room = size if self.ceiling is None else self.ceiling - len(self.of("active"))
        if room < 1:
            return Refused("EMQRATE")
        return self.claim_many(lease_ms, min(size, room), label)
