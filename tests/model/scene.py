"""Everyone around one queue on a real server: our producers and workers, rivals, other programs.

Whatever the server executes is held against the truth at once, command by command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Final, NamedTuple, TypeVar

import redis

from echomq_app.protocol import calls, payload, replies
from echomq_app.protocol.errors import ConnectionLost, EchoMQError, IdCollision
from echomq_app.protocol.ids import ID_LENGTH, JobId, Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.script import every_verb, script
from echomq_app.protocol.states import Admission
from echomq_app.service.lanes import Lanes
from echomq_app.service.queue import Queue
from echomq_app.service.records import Lease, lease
from echomq_app.wire.exchange import Command
from tests.foreign.lanes import (
    lane_claim,
    lane_enqueue,
    lane_limit,
    lane_pause,
    lane_resume,
)
from tests.foreign.seeds import seed_claim, seed_enqueue
from tests.model import reference
from tests.model.lives import Claim
from tests.model.lossy import Blow, Fate, LossyWire
from tests.model.spoken import plain, spoken
from tests.model.truth import Truth
from tests.model.upkeep_truth import KeptTruth
from tests.model.view import View

T = TypeVar("T")

QUEUE: Final = "model"
LANES: Final = ("PRT00000000001", "PRT00000000002")
LEASE: Final = timedelta(minutes=1)
RECEIPT_MS: Final = 120_000
HOUR_MS: Final = 3_600_000
MOST_OUTCOMES: Final = 2
READS: Final = frozenset({"state", "counts", "read_rows"})
TURNS: Final = frozenset({"lane_claim", "lane_claim_weighted"})
POOL: Final = Minter(node=2, clock=lambda: 1_740_000_000.0, spread=0).mint_many(4)
"""Ids that every producer uses again and again."""


class Handle(NamedTuple):
    """What a worker of ours believes to hold, and which claim that was in truth."""

    lease: Lease
    claim: Claim

    def counts(self, truth: Truth) -> bool:
        """Whether it is the newest claim of a living job, and not settled."""
        life = self.claim.life
        living = truth.lives.get(life.job_id) is life
        return living and life.claim is self.claim and not self.claim.settled


class Trouble(NamedTuple):
    """What a call meets: the fates of its first sendings, each with the name of who acts next."""

    blows: tuple[tuple[Fate, str], ...] = ()
    patient: bool = True


class Scene:
    def __init__(self, client: redis.Redis) -> None:
        self.client = client
        client.flushall()
        self.keys = QueueKeys(QUEUE)
        self.truth = KeptTruth()
        self.late: list[Command] = []
        self.handles: list[Handle] = []
        self.foreign_handles: list[tuple[str, int]] = []
        self.intents: dict[str, list[bytes]] = {}
        self.subject: str = POOL[0]
        self.serial = 0
        self._verbs = {script(verb).sha: verb for verb in every_verb()}
        for verb in every_verb():
            client.script_load(script(verb).text)
        self.producers = [self._queue(_twin()), self._queue(_twin())]
        self.workers = [self._queue() for _ in range(3)]
        self.rival = self._queue()

    def _queue(self, minter: Minter | None = None) -> Queue:
        return Queue(LossyWire(self.client, self.heard, self.late), QUEUE, minter=minter)

    def heard(self, command: Command, reply: Any) -> None:
        """Let the truth execute a command of ours, and hold the reply against its answer."""
        if command[0] != "EVALSHA" or isinstance(reply, redis.exceptions.NoScriptError):
            return
        verb = self._verbs[str(command[1])]
        if verb in READS:
            return
        keys, arguments = command[3 : 3 + int(command[2])], command[3 + int(command[2]) :]
        if verb == "add_log":
            arguments = (str(keys[0])[-ID_LENGTH:], *arguments)
        if verb in TURNS:
            arguments = (*arguments, replies.text(reply[0][5]) if reply else "")
        must = plain(getattr(self.truth, verb)(*arguments))
        seen = plain(reply)
        if verb == "beat":
            seen[3] = seen[3] >= 0
        assert seen == must, f"{verb}{arguments} answered {seen}, and must answer {must}"

    def close(self) -> None:
        self.client.close()

    def count(self) -> int:
        self.serial += 1
        return self.serial

    def brace(self, queue: Queue, trouble: Trouble) -> LossyWire:
        wire = queue.wire
        assert isinstance(wire, LossyWire)
        blows = [Blow(fate, getattr(self, name, None)) for fate, name in trouble.blows]
        wire.brace(blows, patient=trouble.patient)
        return wire

    def attempt(self, queue: Queue, trouble: Trouble, verb: Callable[[], T]) -> T | EchoMQError:
        """What a verb answers, or the failure that it names."""
        wire = self.brace(queue, trouble)
        try:
            return verb()
        except EchoMQError as refused:
            failure = refused
        finally:
            wire.brace((), patient=True)
        cut = bool(trouble.blows) or not isinstance(failure, ConnectionLost)
        assert cut, f"a connection was lost that nobody cut: {failure}"
        return failure

    def view(self) -> View:
        return View.read(self.client, self.keys)

    def free(self, pick: int) -> str | None:
        """An id of the pool, mostly an idle one, and never one that has a ghost."""
        ids = [job_id for job_id in POOL if job_id not in self.truth.ghosts]
        idle = [job_id for job_id in ids if job_id not in self.truth.lives]
        ids = idle if idle and pick % 3 else ids
        return ids[pick % len(ids)] if ids else None

    def intent(self, job_id: str, *, again: bool) -> bytes:
        """A producer's payload for an id: a new one, or the last one once more."""
        known = self.intents.setdefault(job_id, [])
        if not (again and known):
            meta = {"nonce": f"n{self.count()}"}
            known.append(payload.encode(payload.TaskPayload(task="shop.ship", meta=meta)))
        return known[-1]

    def check_admission(self, job_id: str, raw: bytes, outcome: Admission | EchoMQError) -> None:
        """What a producer is told agrees with what became of its job."""
        mark = payload.mark(raw)
        if outcome in (Admission.ADMITTED, Admission.DUPLICATE):
            assert self.truth.was_admitted(job_id, mark), f"{outcome}, and {job_id} is another's"
        elif outcome is Admission.COLLISION or isinstance(outcome, IdCollision):
            assert not self.truth.is_known(job_id, mark), (
                f"{job_id} is said to be another's: {mark}"
            )
        else:
            assert isinstance(outcome, ConnectionLost), outcome

    def keep_handles(self, label: str, leases: Iterable[Lease]) -> None:
        for held in leases:
            self.handles.append(Handle(held, self.truth.claims[label, held.job_id]))
        del self.handles[:-16]

    def lease_of(self, label: str, job: replies.Claimed) -> Lease:
        return lease(QUEUE, job, label)

    def retention(self, lease: Lease, kind: str) -> calls.Retention:
        if kind == "plain":
            return calls.NOTHING
        mark = payload.mark(lease.payload)
        if kind == "receipt":
            return calls.Retention(mark=mark, receipt_ms=RECEIPT_MS)
        number = self.count()
        return calls.Retention(
            mark=mark,
            receipt_ms=RECEIPT_MS,
            outcome=b"outcome %d" % number,
            result_ms=(number * 7 % 1009 + 1) * HOUR_MS,
            limit=MOST_OUTCOMES,
        )

    def rival_claims(self, size: int = 1) -> list[Lease]:
        label = f"rival-{self.count()}"
        leases = self.rival.claim_many(LEASE, size, label)
        self.keep_handles(label, leases)
        return leases

    def finish(self, kind: str = "receipt") -> None:
        """A fast worker takes the oldest job and completes it."""
        for held in self.rival_claims():
            self.rival.complete(held, self.retention(held, kind))

    def finish_plainly(self) -> None:
        self.finish("plain")

    def finish_in_lane(self) -> None:
        """A fast worker takes the oldest job of the next lane and completes it."""
        label = f"rival-{self.count()}"
        leases = self.lanes_of(self.rival).claim(LEASE, label=label)
        self.keep_handles(label, leases)
        for held in leases:
            self.rival.complete(held, self.retention(held, "receipt"))

    def hand_over(self) -> None:
        """All leases lapse, and another worker gets the jobs."""
        self.lapse(self.truth.of("active"))
        self.rival.reap()
        self.rival_claims(5)

    def reap(self) -> None:
        self.lapse(self.truth.of("active"))
        self.rival.reap()

    def bury(self) -> None:
        """A worker takes the oldest job, and it fails for good."""
        for held in self.rival_claims():
            self.rival.retry(held, delay=timedelta(), max_attempts=0, error="beyond repair")

    def collide(self) -> None:
        """Another producer of ours admits a job under the id that is being talked about."""
        if self.subject in self.truth.ghosts:
            return
        raw = self.intent(self.subject, again=False)
        try:
            outcome: Admission | EchoMQError = self.rival.enqueue(self.subject, raw)
        except IdCollision as collision:
            outcome = collision
        self.check_admission(self.subject, raw, outcome)

    def restart(self) -> None:
        """The job ends without a trace, and its id begins another life that is claimed at once."""
        self.lapse([self.subject])
        self.rival.reap()
        self.finish_plainly()
        self.collide()
        self.rival_claims()

    def foreign_collide(self) -> None:
        if self.subject not in self.truth.ghosts:
            self.foreign_enqueue(self.subject)

    def foreign_enqueue(self, job_id: str) -> None:
        raw = f"foreign {job_id}".encode()
        verdict = seed_enqueue(self.client, QUEUE, job_id, raw)
        assert verdict == self.truth.foreign_enqueue(job_id, raw)

    def lanes_of(self, queue: Queue) -> Lanes:
        """The lanes over the wire of a queue, so that both meet the same trouble."""
        return Lanes(queue.wire, QUEUE)

    def foreign_lane_enqueue(self, job_id: str, lane: str) -> None:
        raw = f"foreign {job_id} in a lane".encode()
        verdict = lane_enqueue(self.client, QUEUE, lane, job_id, raw)
        assert verdict == self.truth.foreign_enqueue(job_id, raw, lane)

    def foreign_lane_steer(self, lane: str, most: int, act: int) -> None:
        """Another program sets a ceiling, parks a lane, or puts it back."""
        if act == 0:
            lane_limit(self.client, QUEUE, lane, most)
            self.truth.lane_limit(lane, most)
        elif act == 1:
            lane_pause(self.client, QUEUE, lane)
            self.truth.lane_pause(lane)
        else:
            lane_resume(self.client, QUEUE, lane)
            self.truth.lane_resume(lane)

    def foreign_claim(self) -> tuple[str, int] | None:
        found = seed_claim(self.client, QUEUE, HOUR_MS)
        must = [] if self.truth.paused else self.truth.claim(HOUR_MS)
        assert list(found or ()) == must, (
            f"a foreign claim answered {found}, and must answer {must}"
        )
        return self._foreign_holds(found)

    def foreign_lane_claim(self) -> tuple[str, int] | None:
        found = lane_claim(self.client, QUEUE)
        must = self.truth.foreign_lane_claim(found.group if found else "")
        assert list(found or ()) == must, (
            f"a foreign claim answered {found}, and must answer {must}"
        )
        return self._foreign_holds(found)

    def _foreign_holds(self, found: Any) -> tuple[str, int] | None:
        if found is None:
            return None
        self.foreign_handles.append((found.job_id, found.token))
        del self.foreign_handles[:-8]
        return self.foreign_handles[-1]

    def foreign_finish(self) -> None:
        held = self.foreign_claim()
        if held is not None:
            self.foreign_complete(*held)

    def foreign_complete(self, job_id: str, token: int) -> None:
        must = plain(self.truth.foreign_complete(job_id, token))
        seen = spoken(lambda: reference.foreign_complete(self.client, self.keys, job_id, token))
        assert seen == must, f"a foreign complete of {job_id} answered {seen}, and must {must}"

    def foreign_retry(self, job_id: str, token: int, delay_ms: int, most: int) -> None:
        life = self.truth.lives.get(job_id)
        if life is not None and life.place in ("schedule", "dead"):
            most = token if life.place == "dead" else token + 1
        must = plain(self.truth.foreign_retry(job_id, token, delay_ms, most))
        seen = spoken(
            lambda: reference.foreign_retry(self.client, self.keys, job_id, token, delay_ms, most)
        )
        assert seen == must, f"a foreign retry of {job_id} answered {seen}, and must {must}"

    def foreign_drain(self) -> None:
        must = self.truth.foreign_drain()
        assert reference.foreign_drain(self.client, self.keys) == must

    def foreign_delete(self, job_id: str) -> None:
        self.truth.foreign_delete(job_id)
        self.client.delete(self.keys.row(job_id))

    def deliver_late(self) -> None:
        """A sending that its client took for lost reaches the server after all."""
        self._drop_late(self.truth.ghosts)
        if not self.late:
            return
        command = self.late.pop(0)
        seen: Any
        try:
            seen = self.client.execute_command(*command)
        except redis.ResponseError as refused:
            seen = refused
        self.heard(command, seen)

    def _drop_late(self, job_ids: Iterable[str]) -> None:
        gone = set(job_ids)
        self.late[:] = [command for command in self.late if gone.isdisjoint(command)]

    def lapse(self, job_ids: Iterable[str]) -> None:
        """Leases run out: their deadlines are moved into the past."""
        self._pass_time("active", self.keys.active, job_ids)

    def come_due(self, job_ids: Iterable[str]) -> None:
        self._pass_time("schedule", self.keys.schedule, job_ids)

    def _pass_time(self, set_name: str, key: str, job_ids: Iterable[str]) -> None:
        there = sorted(set(job_ids) & self.truth.of(set_name))
        if not there:
            return
        self.client.zadd(key, dict.fromkeys(there, 1), xx=True)
        for job_id in there:
            if job_id in self.truth.ghosts:
                self.truth.ghosts[job_id] = self.truth.ghosts[job_id]._replace(over=True)
            else:
                self.truth.lives[job_id].over = True

    def expire(self, job_ids: Iterable[str]) -> None:
        """What ended jobs left outlives every packet in flight, and its time is over."""
        for job_id in sorted(set(job_ids)):
            if self.truth.retained.standing(job_id) is None:
                continue
            self._drop_late([job_id])
            self.client.delete(self.keys.result(job_id))
            for listing in (self.keys.expire, self.keys.base + "outcomes"):
                self.client.zadd(listing, {job_id: 1}, xx=True)
            self.truth.retained.expire(job_id)

    def let_subkeys_expire(self) -> None:
        """Logs and errors of rows that another program deleted reach the end of their time."""
        for job_id in self.truth.logs | self.truth.reports:
            self.client.delete(self.keys.logs(job_id), self.keys.errors(job_id))
        self.truth.logs.clear()
        self.truth.reports.clear()


def _twin() -> Minter:
    """Two of these mint the very same ids, as processes do that share a node and a millisecond."""
    return Minter(node=1, clock=lambda: 1_750_000_000.0, spread=0)


def known(scene: Scene, pick: int) -> JobId:
    """One of the ids that anybody has spoken of."""
    ids = sorted({*POOL, *scene.truth.lives, *scene.truth.ghosts, *scene.truth.retained.kept})
    return JobId(ids[pick % len(ids)])
