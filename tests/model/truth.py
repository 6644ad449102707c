"""What must be true of a queue, in plain Python: it judges by who holds what, never by tokens.

A *life* is one admission of an id until its end; a *claim* is one lease of a life. The scripts only
have tokens, labels and marks to tell claims apart; here each is an object with an identity, so that
what the scripts accept or refuse is held against what they should have.

Each public method is a verb as the server executed it, and answers what it must have replied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.model.lives import FAR_PAST_MS, WAITING, Claim, Ghost, Life, Refused
from tests.model.retained import Retained


@dataclass
class Truth:
    """The queue as it must be."""

    lives: dict[str, Life] = field(default_factory=dict)
    claims: dict[tuple[str, str], Claim] = field(default_factory=dict)
    retained: Retained = field(default_factory=Retained)
    ghosts: dict[str, Ghost] = field(default_factory=dict)
    logs: dict[str, int] = field(default_factory=dict)
    reports: dict[str, int] = field(default_factory=dict)
    paused: bool = False
    completed: int = 0
    failed: int = 0
    admitted: list[Life] = field(default_factory=list)

    def of(self, set_name: str) -> set[str]:
        """The members of a set, ghosts among them."""
        lives = {life.job_id for life in self.lives.values() if life.set_name == set_name}
        return lives | {job_id for job_id, at in self.ghosts.items() if at.set_name == set_name}

    def at(self, place: str) -> list[Life]:
        return [life for life in self.lives.values() if life.place == place]

    def was_admitted(self, job_id: str, mark: str) -> bool:
        return any((life.job_id, life.mark) == (job_id, mark) for life in self.admitted)

    def is_known(self, job_id: str, mark: str) -> bool:
        """Whether that very job lives, or has ended and left a receipt that stands."""
        life, receipt = self.lives.get(job_id), self.retained.standing(job_id)
        return (life is not None and life.mark == mark) or (
            receipt is not None and receipt.mark == mark
        )

    def _admit(
        self, job_id: str, raw: bytes, place: str, over: bool = False, group: str = ""
    ) -> int:
        life = Life(job_id, raw, place, group, over=over)
        self.lives[job_id] = life
        self.admitted.append(life)
        return 1

    def _bury(self, life: Life) -> None:
        life.place, life.over = "dead", False
        self.failed += 1

    def _end(self, life: Life) -> None:
        del self.lives[life.job_id]

    def _forget_subkeys(self, job_id: str) -> None:
        self.logs.pop(job_id, None)
        self.reports.pop(job_id, None)

    def enqueue(self, job_id: str, raw: bytes) -> int:
        if job_id in self.lives or self.retained.standing(job_id):
            return 0
        return self._admit(job_id, raw, WAITING)

    def enqueue_many(self, *words: Any) -> list[int]:
        pairs = zip(words[::2], words[1::2], strict=True)
        return [self.enqueue(job_id, raw) for job_id, raw in pairs]

    def schedule(self, job_id: str, raw: bytes, mode: str, value: int, group: str = "") -> int:
        if job_id in self.lives or self.retained.standing(job_id):
            return 0
        return self._admit(job_id, raw, "schedule", _is_due(mode, value), group)

    def foreign_enqueue(self, job_id: str, raw: bytes, group: str = "") -> int:
        return 0 if job_id in self.lives else self._admit(job_id, raw, WAITING, group=group)

    def _take(self, life: Life, label: str) -> Claim:
        life.attempts += 1
        life.place, life.over = "active", False
        life.claim = Claim(life, life.attempts, label)
        if label:
            life.worker = f"{life.attempts} {label}"
            self.claims[label, life.job_id] = life.claim
        return life.claim

    def _pop(self, set_name: str = WAITING) -> Iterator[Life | None]:
        """The members of a waiting set in order: a life, or ``None`` for a ghost, taken out."""
        while members := self.of(set_name):
            job_id = min(members)
            if self.ghosts.pop(job_id, None):
                yield None
            else:
                yield self.lives[job_id]

    def claim(self, lease_ms: int, label: str = "") -> list[Any]:
        life = next(self._pop(), None)
        if life is None:
            return []
        claim = self._take(life, label)
        return [life.job_id, life.payload, claim.token]

    def claim_many(self, lease_ms: int, size: int, label: str) -> list[Any]:
        jobs: list[Any] = []
        if self.paused or not size:
            return jobs
        for life in self._pop():
            if life is not None:
                claim = self._take(life, label)
                counted = (str(life.excused), str(life.lapses))
                jobs.append([life.job_id, life.payload, claim.token, *counted])
                if len(jobs) == size:
                    break
        return jobs

    def beat(self, batch: int, lease_ms: int, size: int, label: str) -> list[Any]:
        swept = (self.reap(), self.promote(), self.retained.trim()) if batch else (0, 0, 0)
        jobs = self.claim_many(lease_ms, size, label)
        timed = any(self.of("schedule")) or any(self.of("active"))
        return [*swept, timed, jobs, 0]

    def _judge(
        self, verb: str, job_id: str, token: str, label: str, *places: str
    ) -> Life | Refused:
        """The life that the settler holds, or the refusal; ``Refused("gone")`` when none lives."""
        life, claim = self.lives.get(job_id), self.claims.get((label, job_id))
        if life is None:
            return Refused("gone")
        if claim is not None and life.claim is claim and not claim.settled:
            assert claim.token == int(token), "the machine sent a token that no claim gave it"
            if life.place in places:
                return life
        return Refused("EMQSTALE", life.tells_of(token, verb, label))

    def _settle(self, life: Life, verb: str, token: str, label: str) -> None:
        assert life.claim is not None
        life.claim.settled = verb
        life.settled = (token, verb, label)

    def complete(
        self,
        job_id: str,
        token: str,
        label: str,
        mark: str = "",
        receipt_ms: int = 0,
        result: bytes = b"",
    ) -> Any:
        life = self._judge("complete", job_id, token, label, "active", WAITING)
        if isinstance(life, Refused):
            return 0 if life.code == "gone" else life
        self._settle(life, "complete", token, label)
        self._end(life)
        self._forget_subkeys(job_id)
        self.completed += 1
        if receipt_ms:
            self.retained.keep_receipt(job_id, mark, int(token), label)
        return 1

    def complete_keep(
        self,
        job_id: str,
        token: str,
        label: str,
        mark: str,
        receipt_ms: int,
        result: bytes,
        outcome: bytes,
        result_ms: int,
        limit: int,
    ) -> Any:
        verdict = self.complete(job_id, token, label)
        if verdict == 1:
            self.retained.keep_outcome(job_id, mark, int(token), label, outcome, result_ms)
            self.retained.bound(limit)
        return verdict

    def foreign_complete(self, job_id: str, token: int) -> Any:
        life = self.lives.get(job_id)
        if life is None:
            return 0
        if life.attempts != token:
            return Refused("EMQSTALE")
        self._end(life)
        if life.place in ("schedule", "dead"):
            self.ghosts[job_id] = Ghost(life.place, life.over)
        self.completed += 1
        return 1

    def retry(
        self,
        job_id: str,
        token: str,
        delay_ms: int,
        most: int,
        error: str,
        label: str,
        report: bytes | None = None,
        keep_ms: int = 0,
    ) -> Any:
        life = self._judge("retry", job_id, token, label, "active", WAITING)
        if isinstance(life, Refused):
            return _stale(life)
        self._settle(life, "retry", token, label)
        life.last_error = error
        if report is not None:
            self.reports[job_id] = min(10, self.reports.get(job_id, 0) + 1)
        if life.attempts - life.excused >= most:
            self._bury(life)
            self.retained.drop(job_id)
            return "dead"
        life.place, life.over = "schedule", delay_ms == 0
        return "scheduled"

    def foreign_retry(self, job_id: str, token: int, delay_ms: int, most: int) -> Any:
        life = self.lives.get(job_id)
        if life is None or life.attempts != token:
            return Refused("EMQSTALE")
        life.last_error = "foreign"
        if life.attempts >= most:
            self._bury(life)
            return "dead"
        life.place, life.over = "schedule", delay_ms == 0
        return "scheduled"

    def release(self, job_id: str, token: str, label: str) -> Any:
        life = self._judge("release", job_id, token, label, "active")
        if isinstance(life, Refused):
            return _stale(life)
        self._settle(life, "release", token, label)
        life.excused += 1
        life.wait()
        return 1

    def delay(self, job_id: str, token: str, mode: str, value: int, label: str) -> Any:
        life = self._judge("delay", job_id, token, label, "active")
        if isinstance(life, Refused):
            return _stale(life)
        self._settle(life, "delay", token, label)
        life.excused += 1
        life.place, life.over = "schedule", _is_due(mode, value)
        return 1

    def extend(self, job_id: str, token: str, lease_ms: int, label: str) -> Any:
        life = self._judge("extend", job_id, token, label, "active")
        if isinstance(life, Refused):
            return -1 if life.code == "gone" else _stale(life)
        life.over = False
        return 1

    def extend_many(self, lease_ms: int, *words: str) -> list[str]:
        claims = zip(words[::3], words[1::3], words[2::3], strict=True)
        return [one[0] for one in claims if self.extend(one[0], one[1], lease_ms, one[2]) != 1]

    def _sweep(self, place: str) -> list[Life]:
        """Lives whose time is over; ghosts whose time is over vanish."""
        self.ghosts = {job_id: at for job_id, at in self.ghosts.items() if at != (place, True)}
        return [life for life in self.at(place) if life.over]

    def promote(self, batch: int = 100) -> int:
        due = self._sweep("schedule")
        for life in due:
            life.wait()
        return len(due)

    def reap(self, limit: int = 100) -> int:
        lapsed = self._sweep("active")
        for life in lapsed:
            life.lapses += 1
            life.wait()
        return len(lapsed)

    def trim(self, limit: int) -> int:
        return self.retained.trim()

    def pause(self) -> int:
        changed, self.paused = not self.paused, True
        return int(changed)

    def resume(self) -> int:
        changed, self.paused = self.paused, False
        return int(changed)

    def remove(self, job_id: str, force: str, label: str, receipt_ms: int, did: str) -> Any:
        receipt = self.retained.standing(job_id)
        if receipt is not None and receipt.label == label:
            return -1
        if not force and job_id in self.of("active"):
            return Refused("EMQLOCK")
        life = self.lives.get(job_id)
        self.ghosts.pop(job_id, None)
        self._forget_subkeys(job_id)
        if life is None:
            return -1
        self._end(life)
        if receipt_ms:
            self.retained.keep_receipt(job_id, life.mark, life.attempts, label)
        return 1

    def requeue(self, job_id: str, label: str) -> Any:
        life = self.lives.get(job_id)
        if life is None:
            return -1
        if life.requeued == label:
            return Refused("EMQSTALE", parked=True)
        if life.place != "dead":
            return Refused("EMQSTATE")
        life.wait()
        life.excused, life.lapses, life.last_error, life.requeued = life.attempts, 0, None, label
        life.settled = (str(life.attempts), "requeue", label)
        if life.claim is not None:
            life.claim.settled = life.claim.settled or "requeue"
        self.retained.drop(job_id)
        return 1

    def requeue_many(self, label: str, *job_ids: str) -> list[int]:
        verdicts = [self.requeue(job_id, label) for job_id in job_ids]
        return [int(v.parked) if isinstance(v, Refused) else v for v in verdicts]

    def progress(self, job_id: str, text: str) -> int:
        if job_id not in self.lives:
            return -1
        self.lives[job_id].progress = text
        return 1

    def add_log(self, job_id: str, line: str, keep: int, keep_ms: int) -> int:
        if job_id not in self.lives:
            return -1
        self.logs[job_id] = min(keep, self.logs.get(job_id, 0) + 1)
        return self.logs[job_id]

    def foreign_delete(self, job_id: str) -> None:
        """Another program, or an operator, deletes a row and nothing else."""
        life = self.lives.pop(job_id)
        self.ghosts[job_id] = Ghost(life.set_name, life.over)

    def foreign_drain(self) -> int:
        """The reference's drain: what waits flat ends, rows and logs."""
        waiting: Sequence[str] = sorted(self.of(WAITING))
        for job_id in waiting:
            self.lives.pop(job_id, None)
            self.ghosts.pop(job_id, None)
            self.logs.pop(job_id, None)
        return len(waiting)


def _stale(refused: Refused) -> Refused:
    return Refused("EMQSTALE", refused.parked)


def _is_due(mode: str, value: int) -> bool:
    return value == 0 if mode == "in" else value < FAR_PAST_MS
