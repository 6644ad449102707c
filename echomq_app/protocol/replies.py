"""How each reply of the wire is read. RESP2 and RESP3 give the same values here."""

from __future__ import annotations

from typing import Any, NamedTuple

from echomq_app.protocol.ids import JobId
from echomq_app.protocol.states import (
    Admission,
    Completion,
    Reassigned,
    Requeued,
    Retried,
    SlotFiring,
    State,
)


class Claimed(NamedTuple):
    """A job as a claim hands it out. ``token`` fences every settle of this claim."""

    job_id: JobId
    payload: bytes | None
    token: int
    excused: int = 0
    """Claims so far that do not count as attempts."""
    lapses: int = 0
    """Leases of this job that ran out so far."""
    group: str = ""
    """The lane that it was claimed from."""


class Beat(NamedTuple):
    """What one beat did. ``next_ms``: until something falls due or lapses, ``None`` when nothing will."""

    reaped: int
    promoted: int
    trimmed: int
    next_ms: int | None
    jobs: list[Claimed]
    outbox: int = 0
    """How many entries wait to be carried to parents on other queues."""


class LaneReap(NamedTuple):
    """What one step of a lane's reap did: how many came back, how many lapsed jobs it looked at."""

    moved: int
    seen: int


class Counts(NamedTuple):
    """A queue's numbers at one instant; times are server ms since 1970."""

    pending: int
    active: int
    schedule: int
    dead: int
    done: int
    completed: int
    failed: int
    laned: int
    paused: bool
    oldest: JobId | None
    next_due_ms: int | None
    next_lapse_ms: int | None
    now_ms: int


class Fired(NamedTuple):
    """A repeat that was fired, and the job that it admitted."""

    name: str
    job_id: JobId


class Slot(NamedTuple):
    """A schedule of ours as it was seen. ``due_ms``: its next slot, ms since 1970.

    A record that cannot be read has no revision; one that the registry does not name, no ``due_ms``.
    """

    name: str
    due_ms: int | None
    revision: str
    template: bytes


class DueSlots(NamedTuple):
    """What is due at ``now_ms``, and in how many ms another slot will be; ``None``: none."""

    now_ms: int
    next_ms: int | None
    slots: list[Slot]


def text(raw: Any) -> str:
    """Bytes as UTF-8; what is not UTF-8 is replaced."""
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)


def nothing(_: Any) -> None:
    """A reply that says only that it happened."""
    return None


def number(raw: Any) -> int:
    """A whole number."""
    return int(raw)


def number_or_gone(raw: Any) -> int | None:
    """A count, ``None`` for the protocol's -1."""
    return None if int(raw) < 0 else int(raw)


def held(raw: Any) -> bool:
    """Whether there was such a job: above zero."""
    return int(raw) > 0


def paused(raw: Any) -> bool:
    """Any value at all is paused."""
    return raw is not None


def job_ids(raw: Any) -> list[JobId]:
    """A list of ids."""
    return [JobId(text(item)) for item in raw]


def parked(raw: Any) -> JobId:
    """The job that a deduplication key stands for."""
    return JobId(text(raw[0]))


def job_id_or_none(raw: Any) -> JobId | None:
    """An id, ``None`` for none."""
    return None if raw is None else JobId(text(raw))


def names(raw: Any) -> list[str]:
    """A set's members as text, sorted."""
    return sorted(map(text, raw))


def values(raw: Any) -> list[bytes | None]:
    """The values of many keys; ``None`` for those that are not there."""
    return [None if value is None else bytes(value) for value in raw]


def fired(raw: Any) -> list[Fired]:
    """The repeats of a sweep with their jobs."""
    return [Fired(text(name), JobId(text(job_id))) for name, job_id in raw]


def due_slots(raw: Any) -> DueSlots:
    """The schedules whose slots are due."""
    now_ms, next_ms, slots = raw
    read = [
        Slot(text(name), int(float(due_ms)), text(revision), bytes(template))
        for name, due_ms, revision, template in slots
    ]
    return DueSlots(int(now_ms), None if next_ms < 0 else int(next_ms), read)


_FIRINGS = {
    1: SlotFiring.FIRED,
    0: SlotFiring.DUPLICATE,
    -1: SlotFiring.MOVED,
    -2: SlotFiring.EARLY,
    -3: SlotFiring.OFF,
}


def slot_firing(raw: Any) -> SlotFiring:
    """What firing a slot came to."""
    return _FIRINGS[int(raw)]


_ADMISSIONS = {1: Admission.ADMITTED, 0: Admission.DUPLICATE, -1: Admission.WRONG_KIND}
_REQUEUES = {1: Requeued.REQUEUED, 0: Requeued.NOT_DEAD, -1: Requeued.GONE}


def admission(raw: Any) -> Admission:
    """An admission's verdict."""
    return _ADMISSIONS[int(raw)]


def admissions(raw: Any) -> list[Admission]:
    """A verdict for each job of a bulk."""
    return [_ADMISSIONS[int(item)] for item in raw]


def requeued(raw: Any) -> Requeued:
    """A requeue's verdict."""
    return _REQUEUES[int(raw)]


def requeues(raw: Any) -> list[Requeued]:
    """A verdict for each job of a bulk."""
    return [_REQUEUES[int(item)] for item in raw]


_REASSIGNS = {
    1: Reassigned.MOVED,
    0: Reassigned.NOOP,
    -1: Reassigned.NOT_FOUND,
    -2: Reassigned.NOT_PENDING,
}


def reassigned(raw: Any) -> Reassigned:
    """A reassignment's verdict."""
    return _REASSIGNS[int(raw)]


def lane_reap(raw: Any) -> LaneReap:
    """What a step of a lane's reap did."""
    moved, seen = raw
    return LaneReap(int(moved), int(seen))


def fields(raw: Any) -> dict[str, bytes]:
    """A whole hash, from RESP2's flat list or RESP3's map."""
    pairs = raw.items() if isinstance(raw, dict) else zip(raw[::2], raw[1::2], strict=True)
    return {text(name): value for name, value in pairs}


def completion(raw: Any) -> Completion:
    """Finished, or gone."""
    return Completion.COMPLETED if int(raw) == 1 else Completion.GONE


def retried(raw: Any) -> Retried:
    """Where the job went."""
    return Retried(text(raw))


def state(raw: Any) -> State:
    """A state's word."""
    return State(text(raw))


def claimed(raw: Any) -> Claimed | None:
    """The seed's triple, or nothing."""
    return Claimed(JobId(text(raw[0])), raw[1], int(raw[2])) if raw else None


def _counted(raw: Any) -> int:
    return int(raw) if raw.isdigit() else 0


def claims(raw: Any) -> list[Claimed]:
    """The jobs of a batch claim."""
    return [
        Claimed(JobId(text(item[0])), item[1], int(item[2]), _counted(item[3]), _counted(item[4]))
        for item in raw
    ]


def lane_claims(raw: Any) -> list[Claimed]:
    """The jobs of one turn of a lane."""
    return [job._replace(group=text(item[5])) for job, item in zip(claims(raw), raw, strict=True)]


def beat(raw: Any) -> Beat:
    """What a beat did and claimed."""
    reaped, promoted, trimmed, next_ms, jobs, outbox = raw
    return Beat(
        int(reaped),
        int(promoted),
        int(trimmed),
        None if next_ms < 0 else int(next_ms),
        claims(jobs),
        int(outbox),
    )


def _ms(raw: Any) -> int | None:
    return int(float(raw)) if raw else None


def counts(raw: Any) -> Counts:
    """A queue's numbers in the script's order."""
    oldest = text(raw[9])
    pending, active, schedule, dead, done, completed, failed, laned = map(int, raw[:8])
    return Counts(
        pending=pending,
        active=active,
        schedule=schedule,
        dead=dead,
        done=done,
        completed=completed,
        failed=failed,
        laned=laned,
        paused=bool(int(raw[8])),
        oldest=JobId(oldest) if oldest else None,
        next_due_ms=_ms(raw[10]),
        next_lapse_ms=_ms(raw[11]),
        now_ms=int(raw[12]),
    )


class Row(NamedTuple):
    """A row as a page shows it. ``attempts`` is ``None`` for a ghost or a row that cannot be read."""

    state: str
    attempts: int | None
    payload: bytes
    last_error: str
    group: str
    worker: str
    claimed_at_ms: int | None
    excused: int
    lapses: int
    progress: str
    payload_bytes: int
    result: bytes


def rows(raw: Any) -> list[Row]:
    """The rows of a page."""
    return [
        Row(
            text(item[0]),
            int(item[1]) if item[1].isdigit() else None,
            item[2],
            text(item[3]),
            text(item[4]),
            text(item[5]),
            int(item[6]) if item[6].isdigit() else None,
            _counted(item[7]),
            _counted(item[8]),
            text(item[9]),
            int(item[10]),
            item[11],
        )
        for item in raw
    ]


class OtherClaim(NamedTuple):
    """Who has a job, or has ended it, instead of a claim whose outcome was refused.

    ``token`` and ``label`` are empty when nothing tells of another. ``overlap_ms``: for how long both
    ran at most, ``None`` when nothing tells.
    """

    token: int | None
    label: str
    overlap_ms: int | None


def other_claim(raw: Any) -> OtherClaim:
    """The other claim of a job that two have run."""
    token, label, overlap = map(text, raw)
    return OtherClaim(int(token) if token else None, label, int(overlap) if overlap else None)


class Receipt(NamedTuple):
    """What an ended job left: who ended it, and the outcome's bytes when there is one."""

    mark: str
    token: int
    until_ms: int
    label: str
    outcome: bytes | None


def receipt(raw: Any) -> Receipt | None:
    """Read ``result:<id>``; ``None`` when nothing is kept or it is not one of ours."""
    if raw is None:
        return None
    line, newline, outcome = bytes(raw).partition(b"\n")
    words = text(line).split(" ", 3)
    if len(words) != 4 or not words[1].isdigit() or not words[2].isdigit():
        return None
    return Receipt(words[0], int(words[1]), int(words[2]), words[3], outcome if newline else None)


def taken(raw: Any) -> int | None:
    """Of jobs that are admitted together, the place of the first whose id is taken; ``None`` for none."""
    return None if int(raw) == 1 else max(-int(raw), 1) - 1
