"""The worker: a tick that settles, sweeps and claims, and says how long to wait."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.errors import (
    ConnectionLost,
    EchoMQError,
    FenceMismatch,
    ServerUnavailable,
)
from echomq_app.protocol.replies import Beat, Claimed
from echomq_app.runtime.carrying import carry
from echomq_app.runtime.events import Event, Report, silent
from echomq_app.runtime.held import Held, Keeper, Loss
from echomq_app.runtime.leases import Leases
from echomq_app.runtime.names import process_name
from echomq_app.runtime.order import Order
from echomq_app.runtime.outcomes import Delayed, Failed, Released
from echomq_app.runtime.pace import WINDOW_S, Pace
from echomq_app.runtime.pulse import Pulse
from echomq_app.runtime.served import Round, Served
from echomq_app.runtime.settling import LEASE_LOST, Settle, burial, named, settle_call, take_answer
from echomq_app.runtime.talk import Claim, Executor, Talk
from echomq_app.service.queue import Queue, whole_ms
from echomq_app.service.records import lease
from echomq_app.wire.exchange import Answer
from echomq_app.wire.link import Wire

BUSY_PAUSE_S = 0.01
"""How long an outcome waits at most for others to share its round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """``concurrency``: jobs at a time. ``sweep``: promote, reap and trim on the beat too."""

    concurrency: int = 8
    lease: timedelta = timedelta(seconds=60)
    beat: timedelta = timedelta(seconds=1)
    drain: timedelta = timedelta(seconds=30)
    burst: bool = False
    sweep: bool = True
    sweep_batch: int = 100
    max_lapses: int = 3


@dataclass(slots=True)
class Worker:
    """Serves queues of one server. ``tick`` is called by one thread; ``stop`` by any.

    ``now`` is a monotonic clock in seconds. ``running`` counts what the executor has in hand, jobs
    that were claimed ahead of a free slot among them. Somebody else renews ``leases``.
    """

    wire: Wire
    queues: Sequence[Queue]
    executor: Executor
    options: WorkerOptions = field(default_factory=WorkerOptions)
    report: Report = silent
    now: Callable[[], float] = time.monotonic
    name: str = field(default_factory=process_name)
    keeper: Keeper | None = None
    order: Order | None = None
    quiet: bool = field(default=False, init=False)
    """Claim nothing more for now; set by any thread."""
    running: int = field(default=0, init=False)
    pulse: Pulse = field(default_factory=Pulse, init=False)
    leases: Leases = field(init=False)
    _round: Round = field(init=False)
    _pace: Pace = field(init=False)
    _waiting: deque[Held] = field(default_factory=deque, init=False)
    """Jobs that were claimed ahead, the oldest first; those at its head may have begun."""
    _talk: Talk | None = field(default=None, init=False)
    """What was said and not heard yet."""
    _unsettled: list[Settle] = field(default_factory=list, init=False)
    _labels: Iterator[int] = field(default_factory=itertools.count, init=False)
    _stopping_at: float | None = field(default=None, init=False)
    _retired: bool = field(default=False, init=False)
    _told_draining: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._round = Round(self.queues, self.wire.bus.clustered, self.report, self.order)
        self._pace = Pace(self.options.concurrency)
        self.leases = Leases(self.options.lease, self.report)

    @property
    def stopping(self) -> bool:
        return self._retired or self._stopping_at is not None

    def stop(self) -> None:
        """Claim nothing more; what runs may finish within the drain time."""
        if self._stopping_at is None:
            self._stopping_at = self.now()

    def retire(self) -> None:
        """Claim nothing more; what runs may take its time."""
        self._retired = True

    def cancel(self, queue: str, job_id: str, reason: str = "") -> bool:
        """Ask a job that runs here to stop; whether it does run and was not asked before.

        Called by any thread. The job looks when it likes; nothing happens to one that never does.
        """
        held = self.leases.find(queue, job_id)
        return held is not None and held.cancellation.cancel(reason)

    @property
    def free(self) -> int:
        """Jobs that could start now."""
        if self.stopping or self.quiet:
            return 0
        return max(0, self.options.concurrency - self.running)

    @property
    def room(self) -> int:
        """Jobs to claim now: for the free slots, and ahead of them when half of those are used up."""
        if self.stopping or self.quiet:
            return 0
        ahead = self._pace.ahead
        room = self.options.concurrency + ahead - self.running
        return room if self.free or room * 2 >= ahead > 0 else 0

    @property
    def away(self) -> bool:
        """Whether no server answers."""
        return all(one.away for one in self._round)

    @property
    def may_park(self) -> bool:
        """Whether a wake token is of use here: a job could start, and the server answers."""
        return self.free > 0 and not self.away

    def tick(self, woken: Set[str] = frozenset()) -> float | None:
        """Do what is due; seconds until something will be, ``None`` when the worker is done.

        ``woken``: wake lists that gave a token since the last tick. Raises ``FenceMismatch`` when
        the server turns out to be another one.
        """
        now = self.pulse.turned_at = self.now()
        if self.keeper is not None:
            self.keeper.beat(self.leases)
        self._hear()
        for served in self._round:
            served.hungry = served.hungry or served.queue.keys.wake in woken
        if self.free == 0:
            self._round.was_deaf()
        self._tell_draining()
        self._collect()
        self._give_back(now)
        if not self._time_is_up(now):
            self._work(now)
        if self._is_done(now):
            self._leave()
            return None
        return self._pause(self.now())

    def _tell_draining(self) -> None:
        if self._stopping_at is not None and not self._told_draining:
            self._told_draining = True
            self.report(
                Event.DRAINING, running=self.running, seconds=self.options.drain.total_seconds()
            )

    def _collect(self) -> None:
        """Take what ran to its end; an outcome of a lost lease is not settled."""
        for held, outcome, seconds in self.executor.finished():
            self.running -= 1
            self._pace.ran(seconds)
            if self.leases.drop(held):
                facts = {"label": held.lease.label, "seconds": round(seconds, 3)}
                self.report(Event.OUTCOME_DROPPED, error=LEASE_LOST, **named(held.lease), **facts)
            else:
                self._unsettled.append(Settle(held.lease, outcome, seconds))

    def _give_back(self, now: float) -> None:
        """Release what was claimed ahead and has not begun in its time, or will not any more."""
        waiting = self._waiting
        while waiting and waiting[0].started_at is not None:
            waiting.popleft()
        if not waiting or not (self.stopping or now >= waiting[0].claimed_at + WINDOW_S):
            return
        self._pace.stumbled()
        waiting.clear()
        for held in self.executor.take_back():
            self.running -= 1
            if not self.leases.drop(held):
                self._unsettled.append(Settle(held.lease, Released()))

    def _time_is_up(self, now: float) -> bool:
        drain = self.options.drain.total_seconds()
        return self._stopping_at is not None and now - self._stopping_at >= drain

    def _is_done(self, now: float) -> bool:
        if self._time_is_up(now):
            return True
        if self.leases or self._unsettled or self._talk is not None:
            return False
        return self.stopping or (
            self.options.burst
            and not any(one.away or one.hungry or now >= one.beat_at for one in self._round)
        )

    def _work(self, now: float) -> None:
        """Settles and the first claim in one pipeline; then the other queues' claims.

        While jobs wait that were claimed ahead, the answers are left for the next tick: the server
        works on them as the jobs run.
        """
        settles = [one for one in self._unsettled if self._of(one).reachable(now)]
        self._unsettled = [one for one in self._unsettled if not self._of(one).reachable(now)]
        turns = self._round.in_turn(now)
        self._say(settles, self._next_claim(turns, now), now)
        if self._waiting and not self.stopping:
            return
        self._hear()
        while (claim := self._next_claim(turns, now)) is not None:
            self._say([], claim, now)
            self._hear()

    def _of(self, settle: Settle) -> Served:
        return self._round[settle.lease.queue]

    def _next_claim(self, turns: list[Served], now: float) -> Claim | None:
        """The next queue's beat or claim; a queue without a free slot has its beat all the same."""
        while turns:
            served = turns.pop(0)
            if not served.reachable(now):
                continue
            room = min(self.room, calls.MAX_CLAIMS)
            keys, size = served.queue.keys, self._round.portion(served, turns, room)
            label = f"{self.name}:{next(self._labels)}"
            span = whole_ms(self.options.lease)
            if served.away or now >= served.beat_at:
                served.beat_at = now + self.options.beat.total_seconds()
                batch = self.options.sweep_batch if self.options.sweep and not served.away else 0
                if size or batch or served.away:
                    beat = calls.beat(keys, batch=batch, lease=span, size=size, label=label)
                    return Claim(served, size, batch > 0, label, beat)
            elif size:
                many = calls.claim_many(keys, span, size, label)
                return Claim(served, size, False, label, many)
        return None

    def _say(self, settles: list[Settle], claim: Claim | None, now: float) -> None:
        """One pipeline: settles, then the next claim."""
        wanted = [settle_call(self._of(one).queue, one) for one in settles]
        asked = [self._of(one) for one in settles]
        if claim is not None:
            wanted.append(claim.call)
            asked.append(claim.served)
        if not wanted:
            return
        self.pulse.asking = True
        self._talk = Talk(settles, claim, asked, self.wire.begin(wanted), now)
        self.pulse.asking = False

    def _hear(self) -> None:
        """Take the answers to what was said last, if anything was."""
        talk, self._talk = self._talk, None
        if talk is None:
            return
        self.pulse.asking = True
        answers = talk.pending.answers()
        self.pulse.asking = False
        for served, answer in zip(talk.asked, answers, strict=True):
            self._note_reach(served, answer, talk.at)
        for settle, answer in zip(talk.settles, answers, strict=False):
            self._take_settle(settle, answer, talk.at)
        if talk.claim is not None:
            self._take_claim(talk.claim, answers[-1], talk.at)

    def _note_reach(self, served: Served, answer: Answer[Any], now: float) -> None:
        """Whether the queue's server is there; one that was away is first asked to renew."""
        if isinstance(answer.error, FenceMismatch):
            raise answer.error
        if isinstance(answer.error, ConnectionLost):
            for one in self._round.is_away(served, answer.error, self.now()):
                self.leases.renew_at(one.queue.name, one.ask_at)
        else:
            self._round.is_back(served, self.now())

    def _take_settle(self, settle: Settle, answer: Answer[Any], now: float) -> None:
        served = self._of(settle)
        again = take_answer(served.queue, settle, answer, self.report)
        if again is not None:
            self._unsettled.append(again)
            return
        self.pulse.settled_at = now
        if isinstance(settle.outcome, Released):
            served.hungry = True
        elif isinstance(settle.outcome, Failed | Delayed) and self.options.sweep:
            served.look_within(settle.outcome.delay.total_seconds(), now)

    def _take_claim(self, claim: Claim, answer: Answer[Any], now: float) -> None:
        served, queue = claim.served, claim.served.queue.name
        if not isinstance(answer.error, ConnectionLost):
            self.pulse.polled_at = now
        try:
            claimed = self._claimed(claim, answer.unwrap(), now)
        except ConnectionLost as lost:
            if claim.size and not isinstance(lost, ServerUnavailable):
                self.report(Event.CLAIM_LOST, queue=queue, error=str(lost))
            return
        except EchoMQError as error:
            self._round.took(served, 0, max(1, claim.size))
            self._round.is_broken(served, str(error))
            return
        served.broken = ""
        self._round.took(served, len(claimed), claim.size)
        self._start(claim, claimed, now)
        outbox = isinstance(answer.value, Beat) and answer.value.outbox
        if outbox and carry(self.wire, served, self.report, now):
            served.look_within(0, now)

    def _claimed(self, claim: Claim, value: Any, now: float) -> list[Claimed]:
        if not isinstance(value, Beat):
            found: list[Claimed] = value
            return found
        if value.reaped or value.promoted:
            self.report(
                Event.SWEPT,
                queue=claim.served.queue.name,
                reaped=value.reaped,
                promoted=value.promoted,
                trimmed=value.trimmed,
            )
        if value.next_ms is not None and claim.swept:
            claim.served.look_within(value.next_ms / 1000, now)
        return value.jobs

    def _start(self, claim: Claim, claimed: list[Claimed], now: float) -> None:
        """Run claimed jobs; one whose workers died too often is buried instead (decision 12)."""
        queue, until = claim.served.queue.name, now + self.options.lease.total_seconds()
        starting, arrived = [], self.now()
        for one in claimed:
            kept = None if self.keeper is None else partial(self.keeper.kept, one.job_id)
            held = Held(lease(queue, one, claim.label), arrived, Loss(until, self.now, kept))
            self.report(Event.CLAIMED, label=claim.label, **named(held.lease))
            if one.lapses >= self.options.max_lapses:
                self._unsettled.append(Settle(held.lease, burial(held.lease)))
            else:
                starting.append(held)
        if not starting:
            return
        self.leases.take(queue, starting, now)
        if self.keeper is not None:
            self.keeper.hold(self.leases)
        self._waiting += starting[max(0, self.free) :]
        self.running += len(starting)
        self.executor.submit(starting)

    def _leave(self) -> None:
        """Settle what ended, give back what still runs, and be done."""
        left = self._unsettled
        left += [Settle(one.lease, Released()) for one in self.leases.clear()]
        for _ in range(2):
            sent, left = left, []
            answers = self.wire.answer([settle_call(self._of(one).queue, one) for one in sent])
            for settle, answer in zip(sent, answers, strict=True):
                again = take_answer(self._of(settle).queue, settle, answer, self.report)
                left += [again] if again is not None else []
        why = "the server did not answer in time: the job comes back by its lease"
        for settle in left:
            self.report(Event.OUTCOME_DROPPED, error=why, **named(settle.lease))
        self._unsettled = []

    def _pause(self, now: float) -> float:
        ahead = self.running - self.options.concurrency
        self.executor.ring_after = max(1, ahead if self._talk is not None else ahead // 2)
        if self._talk is not None:
            return BUSY_PAUSE_S
        if any(self._of(one).reachable(now) for one in self._unsettled):
            return 0.0
        if self.room and any(one.hungry and one.reachable(now) for one in self._round):
            return 0.0
        due = [one.due for one in self._round]
        if self._waiting:
            due.append(now + BUSY_PAUSE_S)
        if self._stopping_at is not None:
            due.append(self._stopping_at + self.options.drain.total_seconds())
        return max(0.0, min(due) - now)
