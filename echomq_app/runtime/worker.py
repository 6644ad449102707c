"""The worker: a tick that settles, renews, sweeps and claims, and says how long to wait."""

from __future__ import annotations

import itertools
import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call, Extension
from echomq_app.protocol.errors import (
    ConnectionLost,
    EchoMQError,
    FenceMismatch,
    ServerUnavailable,
)
from echomq_app.protocol.replies import Beat, Claimed
from echomq_app.runtime.events import Event, Report, silent
from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Failed, Outcome, Released
from echomq_app.runtime.settling import Settle, settle_call, take_answer
from echomq_app.service.queue import Queue, whole_ms
from echomq_app.service.records import lease
from echomq_app.wire.exchange import Answer
from echomq_app.wire.link import Wire

AWAY_PAUSE_S = 1.0


class Executor(Protocol):
    """Runs held jobs somewhere, and gives their outcomes when asked."""

    def submit(self, held: Held) -> None: ...

    def finished(self) -> list[tuple[Held, Outcome]]: ...


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

    @property
    def renew_every_s(self) -> float:
        """A third of the lease: two renewals may fail before it runs out."""
        return self.lease.total_seconds() / 3


@dataclass(slots=True)
class _Served:
    """What the worker knows of one queue."""

    queue: Queue
    beat_at: float = 0.0
    hungry: bool = True
    """Whether a claim may find something: something woke us, or the last claim came up full."""
    broken: str = ""
    """The last error that the queue's keys gave, so that it is told once."""


def worker_name() -> str:
    """Host, process and start of this worker: the stem of its labels."""
    return f"{socket.gethostname()[:40]}:{os.getpid()}:{secrets.token_hex(3)}"


@dataclass(slots=True)
class Worker:
    """Serves queues of one server. ``tick`` is called by one thread; ``stop`` by any.

    ``now`` is a monotonic clock in seconds.
    """

    wire: Wire
    queues: Sequence[Queue]
    executor: Executor
    options: WorkerOptions = field(default_factory=WorkerOptions)
    report: Report = silent
    now: Callable[[], float] = time.monotonic
    name: str = field(default_factory=worker_name)
    held: dict[str, Held] = field(default_factory=dict, init=False)
    _running: int = field(default=0, init=False)
    _served: list[_Served] = field(init=False)
    _unsettled: list[Settle] = field(default_factory=list, init=False)
    _labels: Any = field(default_factory=itertools.count, init=False)
    _renew_at: float = field(default=0.0, init=False)
    _turn: int = field(default=0, init=False)
    _stopping_at: float | None = field(default=None, init=False)
    _away_since: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._served = [_Served(queue) for queue in self.queues]

    @property
    def stopping(self) -> bool:
        return self._stopping_at is not None

    def stop(self) -> None:
        """Claim nothing more; what runs may finish within the drain time."""
        if self._stopping_at is None:
            self._stopping_at = self.now()

    @property
    def free(self) -> int:
        """Jobs that could start now."""
        return 0 if self.stopping else max(0, self.options.concurrency - self._running)

    def tick(self, woken: Set[str] = frozenset()) -> float | None:
        """Do what is due; seconds until something will be, ``None`` when the worker is done.

        ``woken``: wake lists that gave a token since the last tick.
        """
        now = self.now()
        for served in self._served:
            served.hungry = served.hungry or served.queue.keys.wake in woken
        self._collect()
        if self._drained(now):
            self._leave()
            return None
        settles, self._unsettled = self._unsettled, []
        first = [settle_call(self._queue(one), one) for one in settles] + self._renewals(now)
        renewals = len(first) - len(settles)
        turns = self._turns(now)
        claim = self._next_claim(turns, now)
        self._talk(settles, renewals, first, claim, now)
        while (claim := self._next_claim(turns, now)) is not None:
            self._talk([], 0, [], claim, now)
        return self._pause(now)

    def _queue(self, settle: Settle) -> Queue:
        name = settle.held.lease.queue
        return next(served.queue for served in self._served if served.queue.name == name)

    def _collect(self) -> None:
        """Take what ran to its end; an outcome of a lost lease is not settled."""
        for held, outcome in self.executor.finished():
            self._running -= 1
            if self.held.get(held.lease.job_id) is held:
                del self.held[held.lease.job_id]
            if held.lost.is_set():
                self.report(
                    Event.OUTCOME_DROPPED,
                    queue=held.lease.queue,
                    job=held.lease.job_id,
                    token=held.lease.token,
                    error="its lease was lost while it ran",
                )
            else:
                self._unsettled.append(Settle(held, outcome))

    def _renewals(self, now: float) -> list[Call[Any]]:
        if not self.held or now < self._renew_at:
            return []
        self._renew_at = now + self.options.renew_every_s
        renewals: list[Call[Any]] = []
        for served in self._served:
            mine = self._held_of(served.queue)
            if mine:
                claims = [
                    Extension(one.lease.job_id, one.lease.token, one.lease.label) for one in mine
                ]
                span = whole_ms(self.options.lease)
                renewals.append(calls.extend_many(served.queue.keys, span, claims))
        return renewals

    def _held_of(self, queue: Queue) -> list[Held]:
        return [
            one
            for one in self.held.values()
            if one.lease.queue == queue.name and not one.lost.is_set()
        ]

    def _turns(self, now: float) -> list[_Served]:
        """Queues to look at, a different one first each time, so that none starves the others."""
        self._turn = (self._turn + 1) % len(self._served)
        rotated = self._served[self._turn :] + self._served[: self._turn]
        return [one for one in rotated if now >= one.beat_at or one.hungry]

    def _next_claim(self, turns: list[_Served], now: float) -> tuple[_Served, Call[Any]] | None:
        """The next queue's beat or claim; a queue without a free slot has its beat all the same."""
        while turns:
            served = turns.pop(0)
            size = min(self.free, calls.MAX_CLAIMS)
            label = f"{self.name}:{next(self._labels)}"
            span = whole_ms(self.options.lease)
            if now >= served.beat_at:
                served.beat_at = now + self.options.beat.total_seconds()
                batch = self.options.sweep_batch if self.options.sweep else 0
                if size or batch:
                    keys = served.queue.keys
                    beat = calls.beat(keys, batch=batch, lease=span, size=size, label=label)
                    return served, beat
            elif size and served.hungry:
                return served, calls.claim_many(served.queue.keys, span, size, label)
        return None

    def _talk(
        self,
        settles: list[Settle],
        renewals: int,
        first: list[Call[Any]],
        claim: tuple[_Served, Call[Any]] | None,
        now: float,
    ) -> None:
        """Settles, renewals and the next claim, in one pipeline."""
        wanted = first + ([claim[1]] if claim else [])
        if not wanted:
            return
        answers = self.wire.answer(wanted)
        for settle, answer in zip(settles, answers, strict=False):
            if isinstance(answer.error, ConnectionLost):
                self._server_is_away(answer.error, now)
            again = take_answer(self._queue(settle), settle, answer, self.report)
            if again is not None:
                self._unsettled.append(again)
        for answer in answers[len(settles) : len(settles) + renewals]:
            self._take_renewal(answer, now)
        if claim:
            self._take_claim(claim[0], answers[-1], now)

    def _take_renewal(self, answer: Answer[Any], now: float) -> None:
        lost: list[str] = []
        name = next(
            s.queue.name for s in self._served if s.queue.keys.active == answer.call.keys[0]
        )
        mine = [one for one in self.held.values() if one.lease.queue == name]
        if answer.error is None:
            lost = answer.unwrap()
        for one in mine:
            if one.lease.job_id in lost or self._run_out(one, answer, now):
                self._lose(one)
            elif answer.error is None:
                one.renewed_at = now
        if answer.error is not None:
            self._renew_at = now + min(AWAY_PAUSE_S, self.options.renew_every_s)

    def _run_out(self, held: Held, answer: Answer[Any], now: float) -> bool:
        """A lease that could not be renewed in its time is lost, whoever holds the job now."""
        return (
            answer.error is not None and now - held.renewed_at > self.options.lease.total_seconds()
        )

    def _lose(self, held: Held) -> None:
        if not held.lost.is_set():
            held.lost.set()
            self.report(
                Event.LEASE_LOST,
                queue=held.lease.queue,
                job=held.lease.job_id,
                token=held.lease.token,
            )

    def _take_claim(self, served: _Served, answer: Answer[Any], now: float) -> None:
        asked = min(self.free, calls.MAX_CLAIMS)
        try:
            claimed = self._claimed(served, answer.unwrap(), now)
        except FenceMismatch:
            raise
        except ConnectionLost as lost:
            self._server_is_away(lost, now)
            if not isinstance(lost, ServerUnavailable):
                self.report(Event.CLAIM_LOST, queue=served.queue.name, error=str(lost))
            return
        except EchoMQError as error:
            served.hungry = False
            if served.broken != str(error):
                served.broken = str(error)
                self.report(Event.QUEUE_BROKEN, queue=served.queue.name, error=str(error))
            return
        self._server_is_back(now)
        served.broken = ""
        served.hungry = len(claimed) >= asked
        label = str(answer.call.args[-1])
        for one in claimed:
            held = Held(lease(served.queue.name, one, label), renewed_at=now, started_at=now)
            self.report(
                Event.CLAIMED, queue=served.queue.name, job=one.job_id, token=one.token, label=label
            )
            self._start(held, now)

    def _start(self, held: Held, now: float) -> None:
        """Run a claimed job; one whose workers died too often is buried instead (decision 12)."""
        lapses = held.lease.lapses
        if lapses >= self.options.max_lapses:
            error = f"its worker died {lapses} times: the job was not started again"
            bury = Failed(error=error, report=None, delay=timedelta(), max_attempts=0)
            self._unsettled.append(Settle(held, bury))
            return
        if not self.held:
            self._renew_at = now + self.options.renew_every_s
        self.held[held.lease.job_id] = held
        self._running += 1
        self.executor.submit(held)

    def _claimed(self, served: _Served, value: Any, now: float) -> list[Claimed]:
        if not isinstance(value, Beat):
            found: list[Claimed] = value
            return found
        if value.reaped or value.promoted:
            self.report(
                Event.SWEPT,
                queue=served.queue.name,
                reaped=value.reaped,
                promoted=value.promoted,
                trimmed=value.trimmed,
            )
        if value.next_ms is not None and self.options.sweep:
            served.beat_at = min(served.beat_at, now + value.next_ms / 1000)
        return value.jobs

    def _server_is_away(self, why: Exception, now: float) -> None:
        if self._away_since is None:
            self._away_since = now
            self.report(Event.SERVER_AWAY, error=str(why))
        for served in self._served:
            served.hungry = True

    def _server_is_back(self, now: float) -> None:
        if self._away_since is not None:
            self.report(Event.SERVER_BACK, seconds=round(now - self._away_since, 1))
            self._away_since = None

    def _drained(self, now: float) -> bool:
        if self._stopping_at is not None:
            if not self.held and not self._unsettled:
                return True
            return now - self._stopping_at >= self.options.drain.total_seconds()
        if not self.options.burst or self.held or self._unsettled:
            return False
        return not any(one.hungry or now >= one.beat_at for one in self._served)

    def _leave(self) -> None:
        """Settle what ended, give back what still runs, and be done."""
        settles = self._unsettled + [
            Settle(one, Released()) for one in self.held.values() if not one.lost.is_set()
        ]
        for one in self.held.values():
            one.lost.set()
        if settles:
            answers = self.wire.answer([settle_call(self._queue(one), one) for one in settles])
            for settle, answer in zip(settles, answers, strict=True):
                take_answer(self._queue(settle), settle, answer, self.report)
        self.held.clear()
        self._unsettled.clear()

    def _pause(self, now: float) -> float:
        if self._away_since is not None:
            return AWAY_PAUSE_S
        if self._unsettled or (self.free and any(one.hungry for one in self._served)):
            return 0.0
        due = [one.beat_at for one in self._served]
        if self.held:
            due.append(self._renew_at)
        if self._stopping_at is not None:
            due.append(self._stopping_at + self.options.drain.total_seconds())
        return max(0.0, min(due) - now)
