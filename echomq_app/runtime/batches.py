"""Batches: jobs gathered until there are enough, run by one call, settled one by one."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from traceback import format_exception
from typing import Any, TypeVar

from echomq_app.protocol import calls, payload
from echomq_app.protocol.calls import Call, Retention
from echomq_app.protocol.errors import (
    ConnectionLost,
    EchoMQError,
    FenceMismatch,
    ServerUnavailable,
)
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.states import Repeat
from echomq_app.runtime.events import Event, Report, silent
from echomq_app.runtime.names import process_name
from echomq_app.runtime.outcomes import Completed, Failed, Outcome
from echomq_app.runtime.served import AWAY_PAUSE_S, Round, Served
from echomq_app.runtime.settling import LEASE_LOST, Settle, burial, named, settle_call, take_answer
from echomq_app.runtime.shaping import Shape, Window, partition, size_now, verdict_of_each
from echomq_app.service import plans
from echomq_app.service.queue import Queue, whole_ms
from echomq_app.service.records import Lease, lease

T = TypeVar("T")
Handler = Callable[[Sequence[Lease]], Mapping[str, Outcome]]
"""Runs a batch; answers an outcome for each job id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """``poll``: how often the depth is read while jobs wait for company."""

    lease: timedelta = timedelta(seconds=60)
    poll: timedelta = timedelta(milliseconds=50)
    beat: timedelta = timedelta(seconds=1)
    retry_delay: timedelta = timedelta(seconds=1)
    max_attempts: int = 5
    max_lapses: int = 3
    receipt: timedelta = timedelta(seconds=120)


@dataclass(slots=True)
class BatchConsumer:
    """Serves the flat jobs of one queue in batches. ``tick`` is called by one thread; ``stop`` by any.

    The handler runs in the tick; its batch's leases are renewed meanwhile. Workers or a reaper
    promote and reap. ``now`` is a monotonic clock in seconds.
    """

    queue: Queue
    handler: Handler
    shape: Shape = field(default_factory=Shape)
    options: BatchOptions = field(default_factory=BatchOptions)
    report: Report = silent
    now: Callable[[], float] = time.monotonic
    name: str = field(default_factory=process_name)
    idle: bool = field(default=True, init=False)
    """Whether nothing waited when it last looked: a wake token is of use then."""
    _window: Window = field(default_factory=Window, init=False)
    _round: Round = field(init=False)
    _labels: Iterator[int] = field(default_factory=itertools.count, init=False)
    _unsettled: list[Settle] = field(default_factory=list, init=False)
    _stopped: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._round = Round([self.queue], self.queue.wire.bus.clustered, self.report)

    def stop(self) -> None:
        """Take no further batch."""
        self._stopped = True

    def tick(self) -> float | None:
        """Take and run a batch if it is time to; seconds until another look, ``None`` when stopped.

        Raises ``FenceMismatch`` when the server turns out to be another one.
        """
        if self._unsettled:
            self._settle(self._unsettled)
        if self._stopped:
            self._drop()
            return None
        depth = self._ask(plans.pending_size(self.queue.keys))
        if depth is None:
            return AWAY_PAUSE_S
        waited = self._window.waited(depth, self.now())
        size = size_now(self.shape, depth, waited) if depth else 0
        self.idle = depth == 0
        if size and self._take(size):
            return 0.0
        if size or self.idle:
            return self.options.beat.total_seconds()
        return max(0.0, min(self.options.poll, self.shape.timeout - waited).total_seconds())

    def _ask(self, call: Call[T]) -> T | None:
        """A call's value; ``None`` when there is none, which is told."""
        (answer,) = self.queue.wire.answer((call,))
        error, served = answer.error, self._served
        if isinstance(error, FenceMismatch):
            raise error
        if isinstance(error, ConnectionLost):
            if call.repeat is Repeat.NEVER and not isinstance(error, ServerUnavailable):
                self.report(Event.CLAIM_LOST, queue=self.queue.name, error=str(error))
            self._round.is_away(served, error, self.now())
            return None
        self._round.is_back(served, self.now())
        if error is not None:
            self._round.is_broken(served, str(error))
            return None
        served.broken = ""
        value: T = answer.unwrap()
        return value

    @property
    def _served(self) -> Served:
        return self._round[self.queue.name]

    def _take(self, size: int) -> bool:
        """Claim, run and settle a batch; whether there was one."""
        self._window.restart()
        label = f"{self.name}:{next(self._labels)}"
        span = whole_ms(self.options.lease)
        claimed = self._ask(calls.claim_many(self.queue.keys, span, size, label))
        held = [lease(self.queue.name, one, label) for one in claimed or ()]
        for one in held:
            self.report(Event.CLAIMED, label=label, **named(one))
        if held:
            self._settle(self._run(held))
        return bool(held)

    def _run(self, held: list[Lease]) -> list[Settle]:
        """What came of a batch; jobs whose lease was lost meanwhile are another's to settle."""
        began = self.now()
        batch = [one for one in held if one.lapses < self.options.max_lapses]
        ends: list[tuple[Lease, Outcome]] = [
            (one, burial(one)) for one in held if one.lapses >= self.options.max_lapses
        ]
        lost: set[JobId] = set()
        if batch:
            with _renewing(self.queue, batch, self.options.lease, lost):
                ends += self._verdicts(batch)
        for one in batch:
            if one.job_id in lost:
                self.report(Event.OUTCOME_DROPPED, error=LEASE_LOST, **named(one))
        ran = self.now() - began
        return [
            Settle(one, self._with_receipt(one, outcome), ran)
            for one, outcome in ends
            if one.job_id not in lost
        ]

    def _with_receipt(self, held: Lease, outcome: Outcome) -> Outcome:
        """A completed job leaves a receipt, so that a resend of its settle or admission is known."""
        if outcome != Completed():
            return outcome
        mark = payload.mark(held.payload)
        return Completed(keep=Retention(mark=mark, receipt_ms=whole_ms(self.options.receipt)))

    def _verdicts(self, batch: list[Lease]) -> list[tuple[Lease, Outcome]]:
        try:
            return verdict_of_each(batch, self.handler(batch), self._failed)
        except Exception as error:  # noqa: BLE001  # a handler may raise anything
            failed = self._failed("".join(format_exception(error)))
            return [(one, failed) for one in batch]

    def _failed(self, error: str) -> Failed:
        return Failed(
            error=error,
            report=None,
            delay=self.options.retry_delay,
            max_attempts=self.options.max_attempts,
        )

    def _settle(self, settles: list[Settle]) -> None:
        """Settle in one pipeline; what found no server is kept for the next tick."""
        self._unsettled = []
        ends: list[tuple[str, Event]] = []

        def note(event: Event, /, **facts: Any) -> None:
            ends.append((facts["job"], event))
            self.report(event, **facts)

        answers = self.queue.wire.answer([settle_call(self.queue, one) for one in settles])
        for settle, answer in zip(settles, answers, strict=True):
            again = take_answer(self.queue, settle, answer, note)
            if again is not None:
                self._unsettled.append(again)
        if ends:
            counts = {name: len(jobs) for name, jobs in partition(ends)._asdict().items() if jobs}
            self.report(Event.BATCH_DONE, queue=self.queue.name, **counts)

    def _drop(self) -> None:
        """The consumer leaves; outcomes that found no server come back by their jobs' leases."""
        for settle in self._unsettled:
            why = "no server answered before the consumer left"
            self.report(Event.OUTCOME_DROPPED, error=why, **named(settle.lease))
        self._unsettled = []


@contextmanager
def _renewing(
    queue: Queue, held: Sequence[Lease], span: timedelta, lost: set[JobId]
) -> Iterator[None]:
    """Renew leases every third of their span; ``lost`` takes the ids that are held here no more."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(span.total_seconds() / 3):
            try:
                lost.update(queue.extend([one for one in held if one.job_id not in lost], span))
            except EchoMQError:
                continue

    thread = threading.Thread(target=beat, name="emq-batch-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
