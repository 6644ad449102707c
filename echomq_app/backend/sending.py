"""Jobs on their way to the server: all that go out together take one pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from echomq_app.compat import TaskResult
from echomq_app.connections import introduce, wire
from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from echomq_app.protocol.errors import (
    ConnectionLost,
    EchoMQError,
    EnqueueFailed,
    IdCollision,
    UnsentJob,
)
from echomq_app.protocol.keyspace import keys_of
from echomq_app.protocol.states import Admission
from echomq_app.service import plans
from echomq_app.wire.exchange import Answer

Group = tuple[Sequence[UnsentJob], Call[Any]]


@dataclass(slots=True, kw_only=True, eq=False)
class Parcel:
    """One job on its way out. ``commits`` counts the open transactions that it waits for."""

    job: UnsentJob
    result: TaskResult[Any]
    tell: Callable[[TaskResult[Any]], None]
    commits: int = 0


@dataclass(slots=True, eq=False)
class Delivery:
    """What became of jobs that were sent, perhaps in several goes."""

    unsent: list[UnsentJob] = field(default_factory=list)
    why: EchoMQError | None = None
    collision: IdCollision | None = None

    def send(self, parcels: Sequence[Parcel]) -> None:
        """Admit jobs and tell who listens; once the server was away the rest is not tried."""
        if isinstance(self.why, ConnectionLost):
            self.unsent += [one.job for one in parcels]
            return
        fates = admit([one.job for one in parcels])
        for parcel in parcels:
            error = fates.get(parcel.job)
            if error is None:
                parcel.tell(parcel.result)
            elif isinstance(error, IdCollision):
                self.collision = error
            else:
                self.why = error
                self.unsent.append(parcel.job)
        for queue in dict.fromkeys([one.job.queue for one in parcels if one.job not in fates]):
            introduce(queue)

    def conclude(self) -> None:
        """Raise ``EnqueueFailed`` with all that may not have arrived, else what else went wrong."""
        if self.unsent:
            raise EnqueueFailed(self.unsent, str(self.why)) from self.why
        if self.collision is not None:
            raise self.collision


def send_again(jobs: Sequence[UnsentJob]) -> None:
    """Admit jobs that an ``EnqueueFailed`` carried; those that were admitted stay as they are."""
    delivery = Delivery()
    for job, error in admit(jobs).items():
        if isinstance(error, IdCollision):
            delivery.collision = error
        else:
            delivery.why = error
            delivery.unsent.append(job)
    delivery.conclude()


def admit(jobs: Sequence[UnsentJob]) -> dict[UnsentJob, EchoMQError]:
    """Admit jobs in one pipeline, many of one queue in one script; the failures, by job."""
    if not jobs:
        return {}
    try:
        if len(jobs) == 1:
            call = _call(jobs[0])
            answer = wire().ask(call)
            if answer.value is Admission.ADMITTED:
                return {}
            return wire().follow(_judge([(jobs, call)], [answer]))
        groups = _groups(jobs)
        return wire().follow(_judge(groups, wire().answer([call for _, call in groups])))
    except EchoMQError as error:
        return dict.fromkeys(jobs, error)


def _judge(
    groups: Sequence[Group], answers: Sequence[Answer[Any]]
) -> plans.Plan[dict[UnsentJob, EchoMQError]]:
    failed: dict[UnsentJob, EchoMQError] = {}
    for (group, _), answer in zip(groups, answers, strict=True):
        if answer.error is not None:
            failed.update(dict.fromkeys(group, answer.error))
            continue
        verdicts = answer.value if isinstance(answer.value, list) else [answer.value]
        for job, verdict in zip(group, verdicts, strict=True):
            if verdict is not Admission.ADMITTED:
                try:
                    keys = keys_of(job.queue)
                    yield from plans.admit(keys, job.job_id, job.payload, _call(job))
                except EchoMQError as error:
                    failed[job] = error
    return failed


def _groups(jobs: Sequence[UnsentJob]) -> list[Group]:
    """Jobs for now by queue, each in mint order; jobs for later one by one."""
    now: dict[str, list[UnsentJob]] = {}
    groups: list[Group] = []
    for job in jobs:
        if job.run_at_ms is None:
            now.setdefault(job.queue, []).append(job)
        else:
            groups.append(([job], _call(job)))
    for queue, waiting in now.items():
        left = iter(waiting)
        for chunk in calls.bulk_chunks([(one.job_id, one.payload) for one in waiting]):
            group = list(islice(left, len(chunk)))
            many = len(group) > 1
            call = calls.enqueue_many(keys_of(queue), chunk) if many else _call(group[0])
            groups.append((group, call))
    return groups


def _call(job: UnsentJob) -> Call[Admission]:
    keys = keys_of(job.queue)
    if job.run_at_ms is None:
        return calls.enqueue(keys, job.job_id, job.payload)
    return calls.schedule_at(keys, job.job_id, job.payload, job.run_at_ms)
