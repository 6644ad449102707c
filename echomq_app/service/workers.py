"""The processes that serve: what they tell of themselves, and what an operator asks of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from echomq_app.protocol.calls import Call
from echomq_app.protocol.calls import workers as calls
from echomq_app.protocol.errors import ServerFull
from echomq_app.protocol.states import Wish
from echomq_app.service.plans import Plan, one
from echomq_app.service.queue import whole_ms
from echomq_app.service.records import moment
from echomq_app.wire.link import Wire

MOST_JOBS: Final = 20
MOST_QUEUES: Final = 50
WISH_FOR: Final = timedelta(hours=1)
"""How long a wish waits for its worker."""
KEPT_FOR: Final = timedelta(seconds=30)
"""How long a worker is listed after it was last heard of."""
AT_ONCE: Final = 200
EVERYONE: Final = "*"


class JobAtWork(NamedTuple):
    """A job that a worker runs. ``seconds``: for how long it had run when that was told."""

    queue: str
    job: str
    task: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord:
    """What a process tells of itself.

    ``kind``: worker, child (a supervisor's process), supervisor or reaper. ``state``: serving,
    quiet or draining. ``above``: the name of a child's supervisor. Of many queues or jobs the
    first are told; ``running`` counts all.
    """

    name: str
    kind: str
    host: str
    pid: int
    version: str
    started_ms: int
    queues: tuple[str, ...] = ()
    slots: int | None = None
    state: str = "serving"
    running: int = 0
    jobs: tuple[JobAtWork, ...] = ()
    above: str = ""

    @property
    def started_at(self) -> datetime | None:
        """By the clock of the worker's host."""
        return moment(self.started_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFacts:
    """A worker that was heard of, for how long ago by the server's clock, and what is wished of it."""

    record: WorkerRecord
    seen_s: float
    wish: Wish | None


class Workers:
    """The workers of one server. Holds no state of its own; share it between threads."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def register(self, record: WorkerRecord, standing: Wish | None = None) -> Wish | None:
        """List a worker for half a minute; what is wished of it, or of its supervisor.

        ``standing``: the wish that it obeys by now, written anew if the server has lost it. One
        pipeline. Safe to repeat. A full server lists nobody anew, and still tells wishes.
        """
        return self.wire.follow(register(record, standing))

    def leave(self, name: str) -> None:
        """List a worker no more. Safe to repeat."""
        self.wire.follow(leave(name))

    def list(self) -> Sequence[WorkerFacts]:
        """The workers that were heard of lately, by name; those that ended otherwise are struck off."""
        return self.wire.follow(listed())

    def quiet(self, name: str) -> Sequence[str]:
        """Ask a worker to claim nothing more and to stay; which were asked.

        ``name`` is a worker's, the start of some before a colon (a host, a host and a pid), or
        ``EVERYONE``. Of a supervisor all processes are asked. It is heard within seconds. Safe to
        repeat.
        """
        return self.wire.follow(ask(name, Wish.QUIET))

    def resume(self, name: str) -> Sequence[str]:
        """Ask a worker to claim again; which were asked. As ``quiet``."""
        return self.wire.follow(ask(name, Wish.SERVE))

    def stop(self, name: str) -> Sequence[str]:
        """Ask a worker to leave as at a first TERM; which were asked. As ``quiet``.

        A process of a supervisor is replaced by it; to end all, ask the supervisor.
        """
        return self.wire.follow(ask(name, Wish.STOP))


def register(record: WorkerRecord, standing: Wish | None = None) -> Plan[Wish | None]:
    """Tell, join and hear in one pipeline."""
    who = [record.name, *([record.above] if record.above else [])]
    telling: list[Call[Any]] = [
        calls.worker_tell(record.name, encoded(record), whole_ms(KEPT_FOR)),
        calls.worker_join(record.name),
    ]
    if standing is not None:
        span = whole_ms(WISH_FOR)
        telling.append(calls.wish(record.name, standing, span, unless_wished=True))
    answers = yield (calls.wishes(who), *telling)
    wished = answers[0].unwrap()
    for answer in answers[1:]:
        if not isinstance(answer.error, ServerFull):
            answer.unwrap()
    return next((one for one in wished if one is not None), None)


def leave(name: str) -> Plan[None]:
    """Strike the name and forget the rest."""
    answers = yield (calls.worker_strike([name]), calls.worker_forget([name]))
    for answer in answers:
        answer.unwrap()


def listed() -> Plan[list[WorkerFacts]]:
    """Names, then what each said; names without a word are struck off."""
    names = yield from one(calls.worker_names())
    found: list[WorkerFacts] = []
    for start in range(0, len(names), AT_ONCE):
        found += yield from _some(names[start : start + AT_ONCE])
    return found


def _some(names: Sequence[str]) -> Plan[list[WorkerFacts]]:
    ages = map(calls.worker_left, names)
    answers = yield (calls.worker_facts(names), calls.wishes(names), *ages)
    told, wished, *left = [answer.unwrap() for answer in answers]
    found, silent = [], []
    for name, raw, wish, left_ms in zip(names, told, wished, left, strict=True):
        if raw is None:
            silent.append(name)
        elif (record := decoded(raw)) is not None:
            seen_s = max(0, whole_ms(KEPT_FOR) - left_ms) / 1000
            found.append(WorkerFacts(record=record, seen_s=seen_s, wish=wish))
    if silent:
        yield from one(calls.worker_strike(silent))
    return found


def ask(name: str, wanted: Wish) -> Plan[list[str]]:
    """Wish it of each worker that is meant; a supervisor's processes hear it through theirs."""
    everyone = [facts.record for facts in (yield from listed())]
    meant = [one for one in everyone if _is_meant(one, name, wanted)]
    over = {one.name for one in meant}
    below = [one.name for one in everyone if one.above in over]
    asked = [one.name for one in meant if one.name not in below]
    answers = yield (
        *(calls.wish(one, wanted, whole_ms(WISH_FOR)) for one in asked),
        *([calls.wish_drop(below)] if below else []),
    )
    for answer in answers:
        answer.unwrap()
    return asked


def _is_meant(record: WorkerRecord, name: str, wanted: Wish) -> bool:
    """A reaper claims nothing: it can only be asked to stop."""
    if record.kind == "reaper" and wanted is not Wish.STOP:
        return False
    return name == EVERYONE or f"{record.name}:".startswith(f"{name.rstrip(':')}:")


def encoded(record: WorkerRecord) -> bytes:
    """The record as JSON, of many queues and jobs the first."""
    told = asdict(record)
    told["queues"] = record.queues[:MOST_QUEUES]
    told["jobs"] = [one._asdict() for one in record.jobs[:MOST_JOBS]]
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


_KINDS: Final[dict[str, type]] = {
    "name": str,
    "kind": str,
    "host": str,
    "pid": int,
    "version": str,
    "started_ms": int,
    "state": str,
    "running": int,
    "above": str,
}


def decoded(raw: bytes) -> WorkerRecord | None:
    """A record as a worker of any release told it; ``None`` when it is none."""
    try:
        told: Any = json.loads(raw)
        jobs = tuple(
            JobAtWork(str(one["queue"]), str(one["job"]), str(one["task"]), float(one["seconds"]))
            for one in told.pop("jobs", ())
        )
        queues = tuple(map(str, told.pop("queues", ())))
        known = {one.name for one in fields(WorkerRecord)}
        plain = {name: told[name] for name in known & set(told)}
        record = WorkerRecord(**plain, queues=queues, jobs=jobs)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    right = all(isinstance(getattr(record, name), kind) for name, kind in _KINDS.items())
    return record if right and isinstance(record.slots, int | None) else None
