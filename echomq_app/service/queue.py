"""A queue's verbs, blocking: a method for each thing that can happen."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Extension, Retention
from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.ids import JobId, Minter, valid_job_id
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Admission, Completion, Requeued, Retried, State
from echomq_app.service import housekeeping, pages, plans
from echomq_app.service.records import JobDetails, Lease, Page, PageRequest, QueueFacts, lease
from echomq_app.wire.link import Wire

SWEEP_BATCH = 100


def whole_ms(value: timedelta) -> int:
    """Milliseconds of a span; a fraction is rounded up, so that no wait is cut short."""
    return -(-value // timedelta(milliseconds=1))


def instant_ms(value: datetime) -> int:
    """Milliseconds since 1970 of an aware instant."""
    if value.tzinfo is None:
        raise InvalidInput(f"an instant carries its time zone; got the naive {value.isoformat()}")
    return int(value.timestamp() * 1000)


def new_label() -> str:
    """A label for one act, so that a resend of it is known."""
    return secrets.token_urlsafe(9)


class Queue:
    """The verbs of one queue over a wire. Holds no state of its own; share it between threads."""

    def __init__(self, wire: Wire, name: str, *, minter: Minter | None = None) -> None:
        self.keys = QueueKeys(name)
        self.name = name
        self.wire = wire
        self._minter = minter

    def enqueue(self, job_id: str, payload: bytes) -> Admission:
        """Admit a job; say whether it is new.

        Safe to repeat after ``ConnectionLost``: while the job or its receipt lives, a second call
        with the same id and payload changes nothing and answers ``Admission.DUPLICATE``.
        Raises ``IdCollision`` when the id is another job's, ``ServerFull``, ``WrongKind``.
        """
        call = calls.enqueue(self.keys, job_id, payload)
        first = self.wire.ask(call)
        if first.value is Admission.ADMITTED:
            return Admission.ADMITTED
        return self.wire.follow(plans.admit(self.keys, job_id, payload, call, first))

    def enqueue_new(self, payload: bytes) -> JobId:
        """Mint an id and admit the job under it; a collision with another's id mints again."""
        job_id = self._mint().mint()
        first = self.wire.ask(calls.enqueue(self.keys, job_id, payload))
        if first.value is Admission.ADMITTED:
            return job_id
        plan = plans.admit_new(
            self.keys,
            self._mint(),
            payload,
            lambda job_id: calls.enqueue(self.keys, job_id, payload),
            (job_id, first),
        )
        return self.wire.follow(plan)

    def _mint(self) -> Minter:
        if self._minter is None:
            self._minter = Minter()
        return self._minter

    def enqueue_many(self, jobs: Sequence[tuple[str, bytes]]) -> list[Admission]:
        """Admit many jobs, each judged for itself, at most 500 or 1 MiB a round trip."""
        return self.wire.follow(plans.admit_many(self.keys, jobs))

    def schedule_at(self, job_id: str, payload: bytes, at: datetime) -> Admission:
        """Admit a job that may not run before ``at``. Repeats and errors as ``enqueue``."""
        call = calls.schedule_at(self.keys, job_id, payload, instant_ms(at))
        return self.wire.follow(plans.admit(self.keys, job_id, payload, call))

    def schedule_in(self, job_id: str, payload: bytes, delay: timedelta) -> Admission:
        """Admit a job that may not run for ``delay``. Repeats and errors as ``enqueue``."""
        call = calls.schedule_in(self.keys, job_id, payload, whole_ms(delay))
        return self.wire.follow(plans.admit(self.keys, job_id, payload, call))

    def claim(self, lease_for: timedelta, label: str = "") -> Lease | None:
        """Lease the oldest job as the seed does; ``None`` when paused or nothing waits.

        Never repeated: ``ConnectionLost`` may leave a job leased to nobody until the lease lapses.
        """
        plan = plans.claim_one(self.keys, whole_ms(lease_for), label)
        claimed = self.wire.follow(plan)
        return lease(self.name, claimed, label) if claimed else None

    def claim_many(self, lease_for: timedelta, size: int, label: str = "") -> list[Lease]:
        """Lease up to ``size`` of the oldest jobs; the pause flag is read in the same script."""
        call = calls.claim_many(self.keys, whole_ms(lease_for), size, label)
        return [lease(self.name, claimed, label) for claimed in self.wire.run(call)]

    def complete(self, held: Lease, keep: Retention = calls.NOTHING) -> Completion:
        """Finish a held job. Safe to repeat; ``Stale`` when somebody else holds it."""
        return self.wire.follow(plans.complete(self.keys, held, keep))

    def retry(
        self,
        held: Lease,
        *,
        delay: timedelta,
        max_attempts: int,
        error: str,
        report: bytes | None = None,
    ) -> Retried:
        """Park a held job that failed, or bury it when it has had its attempts. Safe to repeat."""
        call = calls.retry(
            self.keys,
            held.job_id,
            held.token,
            delay_ms=whole_ms(delay),
            max_attempts=max_attempts,
            error=error,
            label=held.label,
            report=report,
        )
        (answer,) = self.wire.answer((call,))
        return self.wire.follow(plans.retried(self.keys, held, answer))

    def release(self, held: Lease) -> None:
        """Give a held job back at once; the claim does not count. Safe to repeat."""
        call = calls.release(self.keys, held.job_id, held.token, held.label)
        self.wire.follow(plans.given_back(call))

    def delay(self, held: Lease, until: datetime | timedelta) -> None:
        """Park a held job until an instant or for a span; the claim does not count."""
        who = (held.job_id, held.token)
        if isinstance(until, timedelta):
            call = calls.delay_in(self.keys, *who, whole_ms(until), held.label)
        else:
            call = calls.delay_at(self.keys, *who, instant_ms(until), held.label)
        self.wire.follow(plans.given_back(call))

    def extend(self, held: Sequence[Lease], lease_for: timedelta) -> list[JobId]:
        """Renew leases in one script; the ids that this process holds no more."""
        claims = [Extension(one.job_id, one.token, one.label) for one in held]
        return self.wire.run(calls.extend_many(self.keys, whole_ms(lease_for), claims))

    def promote(self, most: int = 10_000) -> int:
        """Move due jobs to their waiting sets, in bounded steps; how many moved."""
        step = plans.every(lambda: calls.promote(self.keys, SWEEP_BATCH), SWEEP_BATCH, most)
        return self.wire.follow(step)

    def reap(self, most: int = 10_000) -> int:
        """Give back what lapsed leases held, in bounded steps; how many came back."""
        step = plans.every(lambda: calls.reap(self.keys, SWEEP_BATCH), SWEEP_BATCH, most)
        return self.wire.follow(step)

    def trim(self, most: int = 10_000) -> int:
        """Forget receipts and outcomes whose time is over, in bounded steps; how many."""
        step = plans.every(lambda: calls.trim(self.keys, SWEEP_BATCH), SWEEP_BATCH, most)
        return self.wire.follow(step)

    def pause(self) -> bool:
        """Stop every claim; whether that changed anything."""
        return self.wire.run(calls.pause(self.keys))

    def resume(self) -> bool:
        """Let claims go on; whether that changed anything."""
        return self.wire.run(calls.resume(self.keys))

    def is_paused(self) -> bool:
        return self.wire.follow(plans.is_paused(self.keys))

    def remove(
        self,
        job_id: str,
        *,
        force: bool = False,
        label: str = "",
        receipt_for: timedelta = timedelta(),
    ) -> bool:
        """End a job's life; ``False`` when it is gone, ``Locked`` when held and not ``force``.

        ``label`` is unique to this call. Safe to repeat: the receipt tells a resend from the removal
        of the id's next life; without a receipt a resend takes whatever has the id by then.
        """
        plan = plans.remove(
            self.keys,
            valid_job_id(job_id),
            force=force,
            label=label or new_label(),
            receipt_ms=whole_ms(receipt_for),
        )
        return self.wire.follow(plan)

    def requeue(self, job_id: str) -> Requeued:
        """Give a dead job all its attempts again; ``WrongState`` when it is not dead."""
        return self.wire.follow(plans.requeue(self.keys, job_id, new_label()))

    def requeue_many(self, job_ids: Sequence[str]) -> list[Requeued]:
        """Give dead jobs all their attempts again, each judged for itself."""
        verdicts: list[Requeued] = []
        for start in range(0, len(job_ids), calls.MAX_BULK_JOBS):
            part = job_ids[start : start + calls.MAX_BULK_JOBS]
            judged = self.wire.run(calls.requeue_many(self.keys, part, new_label()))
            verdicts.extend(judged)
        return verdicts

    def update_data(self, job_id: str, payload: bytes) -> bool:
        """Replace a job's payload; ``False`` when it is gone, ``Locked`` when somebody runs it.

        Keep the old payload's ``meta.nonce``, or an admission of the job that is sent again is told
        of a collision. Not repeated after a lost reply: ``ConnectionLost``, and it may be replaced.
        """
        return self.wire.run(calls.update_data(self.keys, job_id, payload))

    def drain(
        self,
        *,
        scheduled: bool = False,
        receipt_for: timedelta = timedelta(),
        most: int = 1_000_000,
    ) -> int:
        """End the jobs that wait, flat or in lanes, in bounded steps; how many left their sets.

        What runs goes on; ``scheduled``: what is parked until an instant ends too. Parents in a flow
        hear of a death. Safe to repeat; after a lost reply the number lacks what that step ended.
        """
        plan = housekeeping.drain(
            self.keys,
            most=most,
            scheduled=scheduled,
            label=new_label(),
            receipt_ms=whole_ms(receipt_for),
        )
        return self.wire.follow(plan)

    def obliterate(self, *, force: bool = False) -> None:
        """Let everything of a paused queue go, in bounded steps, and strike it off the known queues.

        ``WrongState`` when it is not paused, or when jobs run and ``force`` is not given. Safe to
        repeat: where nothing is left, nothing is done.
        """
        self.wire.follow(housekeeping.obliterate(self.keys, force=force))

    def dedup(self, did: str, job_id: str, keep_for: timedelta) -> JobId:
        """Park a deduplication key before enqueueing; the job that it stands for, whoever parked it.

        Enqueue when the answer is ``job_id``. The key goes with the job's removal, a drain, or its
        time; a completion leaves it. Safe to repeat.
        """
        return self.wire.run(calls.dedup(self.keys, did, job_id, whole_ms(keep_for)))

    def dedup_holder(self, did: str) -> JobId | None:
        """The job that a deduplication key stands for; ``None`` when nobody has parked it."""
        return self.wire.run(calls.dedup_holder(self.keys, did))

    def rate(self) -> None:
        """Hear whether the queue is below its ceiling of running jobs; ``CeilingReached`` if not."""
        self.wire.run(calls.rate(self.keys))

    def set_rate(self, most: int | None) -> None:
        """Set the ceiling for claimers that consult it, or take it away. Safe to repeat."""
        self.wire.run(calls.set_rate(self.keys, most))

    def rate_consult(self, lease_for: timedelta, size: int, label: str = "") -> list[Lease]:
        """Lease as ``claim_many``, up to the ceiling; ``CeilingReached`` when it is reached."""
        call = calls.rate_consult(self.keys, whole_ms(lease_for), size, label)
        return [lease(self.name, claimed, label) for claimed in self.wire.run(call)]

    def progress(self, job_id: str, text: str) -> bool:
        """Note and publish how far a job has come; ``False`` when it is gone."""
        return self.wire.run(calls.progress(self.keys, job_id, text))

    def add_log(self, job_id: str, line: str, keep: int | None = 1000) -> int | None:
        """Append a line to a job's log; how many are kept, ``None`` when the job is gone.

        Not repeated after a lost reply, which raises ``ConnectionLost``: the line may be there.
        """
        return self.wire.run(calls.add_log(self.keys, job_id, line, keep))

    def logs(self, job_id: str) -> list[str] | None:
        """A job's log lines, oldest first; ``None`` when the job is gone."""
        return self.wire.follow(pages.logs(self.keys, job_id))

    def state(self, job_id: str) -> State:
        """Where a job is, judged by the sets."""
        return self.wire.run(calls.state(self.keys, job_id))

    def pending_size(self) -> int:
        return self.wire.run(plans.pending_size(self.keys))

    def facts(self) -> QueueFacts:
        """The queue's numbers, read together."""
        return QueueFacts(name=self.name, counts=self.wire.run(calls.counts(self.keys)))

    def browse(self, limit: int = 50) -> list[JobId]:
        """The newest waiting ids, newest first."""
        return self.wire.follow(pages.browse(self.keys, limit))

    def page(self, request: PageRequest) -> Page:
        """Part of a set in mint order (decision 18), its rows cut short."""
        return self.wire.follow(pages.page(self.keys, request))

    def job(self, job_id: str) -> JobDetails:
        """Everything that is known of one job, in one round trip."""
        return self.wire.follow(pages.job(self.keys, job_id))
