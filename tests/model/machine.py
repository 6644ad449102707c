"""A Hypothesis state machine over all verbs of a queue, on a real server, against the truth.

Its limits stand in the package's own words.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from echomq_app.protocol import calls, payload
from echomq_app.protocol.errors import (
    ConnectionLost,
    EchoMQError,
    IdCollision,
    Locked,
    Stale,
    WrongState,
)
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.states import Admission, Completion, Retried, State
from tests.model.lane_rules import LaneRules
from tests.model.lives import STATES, Life
from tests.model.odds import (
    FAR,
    PAST,
    WAYS_IN,
    crew,
    delays,
    holding,
    picks,
    sides,
    troubles,
)
from tests.model.scene import HOUR_MS, LEASE, POOL, Handle, Scene, Trouble, known
from tests.model.tally import Tally
from tests.model.winding import wind_up
from tests.servers.server import Server


class QueueMachine(LaneRules):
    def __init__(self, server: Server, tally: Tally) -> None:
        super().__init__()
        self.scene = Scene(server.client())
        self.tokens: dict[Life, int] = {}
        self.floods = Minter(node=3, clock=lambda: 1_760_000_000.0, spread=0)
        self.tally = tally
        self.tally.examples += 1
        self.tally.steps = 0

    def teardown(self) -> None:
        self.scene.close()

    @invariant()
    def everything_agrees(self) -> None:
        self.tally.steps += 1
        view = self.scene.view()
        view.check(self.scene.truth)
        for job_id, row in view.rows.items():
            life, token = self.scene.truth.lives[job_id], int(row["attempts"])
            assert token >= self.tokens.get(life, 0), f"the token of {job_id} shrank to {token}"
            self.tokens[life] = token

    @rule(
        side=sides, pick=picks, again=st.booleans(), way=st.sampled_from(WAYS_IN), trouble=troubles
    )
    def enqueue(self, side: int, pick: int, again: bool, way: str, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.producers[side]
        job_id = scene.free(pick)
        if job_id is None:
            return
        raw = scene.intent(job_id, again=again)
        scene.subject = job_id
        ways: dict[str, Callable[[], Admission]] = {
            "now": lambda: queue.enqueue(job_id, raw),
            "in nothing": lambda: queue.schedule_in(job_id, raw, timedelta()),
            "in an hour": lambda: queue.schedule_in(job_id, raw, timedelta(hours=1)),
            "at a past instant": lambda: queue.schedule_at(job_id, raw, PAST),
            "at a far instant": lambda: queue.schedule_at(job_id, raw, FAR),
        }
        scene.check_admission(job_id, raw, scene.attempt(queue, trouble, ways[way]))

    @rule(
        side=sides,
        chosen=st.lists(picks, min_size=1, max_size=3),
        again=st.booleans(),
        trouble=troubles,
    )
    def enqueue_many(self, side: int, chosen: list[int], again: bool, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.producers[side]
        ids = [job_id for job_id in map(scene.free, chosen) if job_id is not None]
        if not ids:
            return
        jobs = [(job_id, scene.intent(job_id, again=again)) for job_id in ids]
        scene.subject = ids[0]
        outcome = scene.attempt(queue, trouble, lambda: queue.enqueue_many(jobs))
        if isinstance(outcome, EchoMQError):
            assert isinstance(outcome, ConnectionLost)
            return
        for (job_id, raw), verdict in zip(jobs, outcome, strict=True):
            scene.check_admission(job_id, raw, verdict)

    @precondition(lambda self: self.scene.truth.ghosts.keys() <= set(POOL))
    @rule(side=sides, trouble=troubles)
    def enqueue_under_a_new_id(self, side: int, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.producers[side]
        meta = {"nonce": f"n{scene.count()}"}
        raw = payload.encode(payload.TaskPayload(task="shop.mail", meta=meta))
        outcome = scene.attempt(queue, trouble, lambda: queue.enqueue_new(raw))
        if isinstance(outcome, EchoMQError):
            assert isinstance(outcome, ConnectionLost | IdCollision)
            return
        ids = {life.job_id for life in scene.truth.admitted if life.mark == meta["nonce"]}
        assert outcome in ids, f"{outcome} was answered, and {ids} admitted"
        doubled = [one for one in ids - {outcome} if scene.truth.is_known(one, meta["nonce"])]
        assert not doubled, f"{outcome} was answered, and the job is {doubled} too"

    @rule(pick=picks)
    def foreign_enqueue(self, pick: int) -> None:
        job_id = self.scene.free(pick)
        if job_id is not None:
            self.scene.foreign_enqueue(job_id)

    @holding("pending")
    @rule(worker=crew, trouble=troubles)
    def claim(self, worker: int, trouble: Trouble) -> None:
        queue, label = self.scene.workers[worker], f"worker-{self.scene.count()}"
        outcome = self.scene.attempt(queue, trouble, lambda: queue.claim(LEASE, label))
        if outcome is not None and not isinstance(outcome, EchoMQError):
            self.scene.keep_handles(label, [outcome])

    @holding("pending")
    @rule(worker=crew, size=st.integers(1, 3), trouble=troubles)
    def claim_many(self, worker: int, size: int, trouble: Trouble) -> None:
        queue, label = self.scene.workers[worker], f"worker-{self.scene.count()}"
        outcome = self.scene.attempt(queue, trouble, lambda: queue.claim_many(LEASE, size, label))
        if not isinstance(outcome, EchoMQError):
            self.scene.keep_handles(label, outcome)

    @rule(worker=crew, batch=st.sampled_from((0, 100)), size=st.integers(0, 2), trouble=troubles)
    def beat(self, worker: int, batch: int, size: int, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.workers[worker]
        label = f"worker-{scene.count()}"
        call = calls.beat(scene.keys, batch=batch, lease=HOUR_MS, size=size, label=label)
        outcome = scene.attempt(queue, trouble, lambda: queue.wire.run(call))
        if not isinstance(outcome, EchoMQError):
            scene.keep_handles(label, (scene.lease_of(label, job) for job in outcome.jobs))

    @holding("pending")
    @rule()
    def foreign_claim(self) -> None:
        self.scene.foreign_claim()

    def handle(self, pick: int) -> Handle:
        """A claim that some worker of ours got: one that still counts, or any, settled and lost."""
        held = [handle for handle in self.scene.handles if handle.counts(self.scene.truth)]
        handles = held if held and pick % 3 else self.scene.handles
        handle = handles[-1 - pick // 3 % len(handles)]
        self.scene.subject = handle.lease.job_id
        return handle

    def refused_rightly(self, handle: Handle, verb: str, outcome: EchoMQError) -> None:
        """A refusal must not hide that this very settle has happened."""
        if isinstance(outcome, ConnectionLost):
            return
        assert isinstance(outcome, Stale), outcome
        life = self.scene.truth.lives.get(handle.lease.job_id)
        told = life and life.tells_of(str(handle.lease.token), verb, handle.lease.label)
        assert not told, f"{verb} was refused, and had happened: {outcome}"

    @precondition(lambda self: self.scene.handles)
    @rule(
        pick=picks,
        worker=crew,
        kind=st.sampled_from(("plain", "receipt", "outcome")),
        trouble=troubles,
    )
    def complete(self, pick: int, worker: int, kind: str, trouble: Trouble) -> None:
        scene, queue, handle = self.scene, self.scene.workers[worker], self.handle(pick)
        keep = scene.retention(handle.lease, kind)
        before = handle.claim.settled
        outcome = scene.attempt(queue, trouble, lambda: queue.complete(handle.lease, keep))
        if isinstance(outcome, EchoMQError):
            self.refused_rightly(handle, "complete", outcome)
        elif outcome is Completion.COMPLETED:
            assert handle.claim.settled == "complete", f"{handle.lease.job_id} was not completed"
        elif handle.claim.settled != before:
            kept = scene.truth.retained.standing(handle.lease.job_id)
            left = kept and (kept.token, kept.label) == (handle.lease.token, handle.lease.label)
            assert not left, "completed by a lost sending that left a receipt, and told as gone"

    @precondition(lambda self: self.scene.handles)
    @rule(
        pick=picks,
        worker=crew,
        delay=delays,
        most=st.integers(0, 3),
        report=st.booleans(),
        trouble=troubles,
    )
    def retry(
        self, pick: int, worker: int, delay: timedelta, most: int, report: bool, trouble: Trouble
    ) -> None:
        queue, handle = self.scene.workers[worker], self.handle(pick)
        outcome = self.scene.attempt(
            queue,
            trouble,
            lambda: queue.retry(
                handle.lease,
                delay=delay,
                max_attempts=most,
                error=f"error {self.scene.count()}",
                report=b"{}" if report else None,
            ),
        )
        if isinstance(outcome, Retried):
            assert handle.claim.settled == "retry", f"{handle.lease.job_id} was not retried"
        else:
            self.refused_rightly(handle, "retry", outcome)

    @precondition(lambda self: self.scene.handles)
    @rule(pick=picks, worker=crew, trouble=troubles)
    def release(self, pick: int, worker: int, trouble: Trouble) -> None:
        queue, handle = self.scene.workers[worker], self.handle(pick)
        outcome = self.scene.attempt(queue, trouble, lambda: queue.release(handle.lease))
        if outcome is None:
            assert handle.claim.settled == "release", f"{handle.lease.job_id} was not released"
        else:
            self.refused_rightly(handle, "release", outcome)

    @precondition(lambda self: self.scene.handles)
    @rule(
        pick=picks,
        worker=crew,
        until=st.one_of(delays, st.sampled_from((PAST, FAR))),
        trouble=troubles,
    )
    def delay(self, pick: int, worker: int, until: datetime | timedelta, trouble: Trouble) -> None:
        queue, handle = self.scene.workers[worker], self.handle(pick)
        outcome = self.scene.attempt(queue, trouble, lambda: queue.delay(handle.lease, until))
        if outcome is None:
            assert handle.claim.settled == "delay", f"{handle.lease.job_id} was not delayed"
        else:
            self.refused_rightly(handle, "delay", outcome)

    @precondition(lambda self: self.scene.handles)
    @rule(chosen=st.lists(picks, min_size=1, max_size=3), worker=crew, trouble=troubles)
    def extend(self, chosen: list[int], worker: int, trouble: Trouble) -> None:
        queue, leases = self.scene.workers[worker], [self.handle(pick).lease for pick in chosen]
        self.scene.attempt(queue, trouble, lambda: queue.extend(leases, LEASE))

    @precondition(lambda self: self.scene.handles)
    @rule(pick=picks, worker=crew, trouble=troubles)
    def extend_one(self, pick: int, worker: int, trouble: Trouble) -> None:
        scene, queue, lease = self.scene, self.scene.workers[worker], self.handle(pick).lease
        call = calls.extend(scene.keys, lease.job_id, lease.token, HOUR_MS, lease.label)
        outcome = scene.attempt(queue, trouble, lambda: queue.wire.run(call))
        assert isinstance(outcome, bool | Stale | ConnectionLost), outcome

    @precondition(lambda self: self.scene.foreign_handles)
    @rule(pick=picks)
    def foreign_complete(self, pick: int) -> None:
        held = self.scene.foreign_handles
        self.scene.foreign_complete(*held[-1 - pick % len(held)])

    @precondition(lambda self: self.scene.foreign_handles)
    @rule(pick=picks, soon=st.booleans(), most=st.integers(1, 3))
    def foreign_retry(self, pick: int, soon: bool, most: int) -> None:
        held = self.scene.foreign_handles
        self.scene.foreign_retry(*held[-1 - pick % len(held)], 0 if soon else HOUR_MS, most)

    @precondition(lambda self: self.scene.late)
    @rule()
    def a_late_packet_arrives(self) -> None:
        self.scene.deliver_late()

    @rule(
        worker=crew,
        verb=st.sampled_from(("promote", "reap", "trim", "pause", "resume")),
        trouble=troubles,
    )
    def sweep(self, worker: int, verb: str, trouble: Trouble) -> None:
        queue = self.scene.workers[worker]
        outcome = self.scene.attempt(queue, trouble, getattr(queue, verb))
        assert isinstance(outcome, int | ConnectionLost), outcome

    @holding("active")
    @rule(pick=picks, all_of_them=st.booleans())
    def leases_lapse(self, pick: int, all_of_them: bool) -> None:
        running = self.scene.truth.of("active")
        self.scene.lapse(running if all_of_them else [known(self.scene, pick)])

    @holding("active")
    @rule()
    def lapsed_jobs_come_back(self) -> None:
        self.scene.reap()

    @holding("schedule")
    @rule()
    def scheduled_jobs_come_back(self) -> None:
        self.scene.come_due(self.scene.truth.of("schedule"))
        self.scene.rival.promote()

    @holding("schedule")
    @rule()
    def schedules_come_due(self) -> None:
        self.scene.come_due(self.scene.truth.of("schedule"))

    @rule(pick=picks)
    def what_is_kept_expires(self, pick: int) -> None:
        self.scene.expire([known(self.scene, pick)])

    @rule(pick=picks, force=st.booleans(), receipt=st.booleans(), trouble=troubles)
    def remove(self, pick: int, force: bool, receipt: bool, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.producers[0]
        scene.subject = known(scene, pick)
        keep = timedelta(minutes=2 if receipt else 0)
        outcome = scene.attempt(
            queue,
            trouble,
            lambda: queue.remove(scene.subject, force=force, receipt_for=keep),
        )
        assert isinstance(outcome, bool | Locked | ConnectionLost), outcome

    @holding("dead")
    @rule(pick=picks, trouble=troubles)
    def requeue(self, pick: int, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.producers[0]
        dead = sorted(scene.truth.of("dead"))
        scene.subject = dead[pick % len(dead)]
        outcome = scene.attempt(queue, trouble, lambda: queue.requeue(scene.subject))
        if isinstance(outcome, EchoMQError):
            assert isinstance(outcome, WrongState | ConnectionLost), outcome

    @rule(chosen=st.lists(picks, min_size=1, max_size=3), trouble=troubles)
    def requeue_many(self, chosen: list[int], trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.producers[1]
        ids = [known(scene, pick) for pick in chosen]
        scene.attempt(queue, trouble, lambda: queue.requeue_many(ids))

    @rule(pick=picks, trouble=troubles)
    def note_progress(self, pick: int, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.workers[0]
        job_id, text = known(scene, pick), f"{scene.count()} %"
        scene.attempt(queue, trouble, lambda: queue.progress(job_id, text))

    @rule(pick=picks, trouble=troubles)
    def add_log(self, pick: int, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.workers[0]
        job_id, line = known(scene, pick), f"line {scene.count()}"
        scene.attempt(queue, trouble, lambda: queue.add_log(job_id, line, keep=2))

    @rule(pick=picks)
    def a_row_is_deleted(self, pick: int) -> None:
        """Another program, an eviction or an operator's hand takes a row and leaves its member."""
        job_id = known(self.scene, pick)
        life = self.scene.truth.lives.get(job_id)
        if life is not None and not life.group:
            self.scene.foreign_delete(job_id)

    @rule()
    def a_flood_is_drained(self) -> None:
        scene = self.scene
        jobs = [(job_id, b"flood") for job_id in self.floods.mint_many(70)]
        scene.producers[0].enqueue_many(jobs)
        self.everything_agrees()
        scene.foreign_drain()

    @rule()
    def look(self) -> None:
        """The read side tells what is there."""
        truth, queue = self.scene.truth, self.scene.rival
        for job_id in {*POOL, *truth.lives}:
            life, ghost = truth.lives.get(job_id), truth.ghosts.get(job_id)
            place = life.place if life is not None else ghost.set_name if ghost else None
            ended = State.DONE if truth.retained.standing(job_id) else State.ABSENT
            assert queue.state(job_id) == (State(STATES[place]) if place else ended)
        counts = queue.facts().counts
        seen = (counts.pending, counts.active, counts.schedule, counts.dead)
        assert seen == tuple(len(truth.of(name)) for name in STATES), f"counted {seen}"
        assert counts.laned == sum(bool(one.group) for one in truth.at("pending"))
        assert (counts.done, counts.paused) == (len(truth.retained.outcomes()), truth.paused)
        assert set(queue.browse(1000)) == truth.of("pending")

    @rule()
    def all_comes_to_an_end(self) -> None:
        """Every job runs or is removed, time passes, and nothing but the books stays behind."""
        wind_up(self.scene)
        self.everything_agrees()
        left = set(self.scene.view().ttl) - {"metrics:completed", "metrics:failed"}
        assert not left, f"every job has ended, and {left} stayed"
