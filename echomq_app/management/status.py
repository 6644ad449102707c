"""What ``emq_status`` shows: the queues of a server and the processes that serve them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from echomq_app.conf import echomq_settings
from echomq_app.connections import server_bus, workers
from echomq_app.protocol.errors import ConnectionLost, EchoMQError, InvalidQueueName
from echomq_app.protocol.keyspace import valid_queue_name
from echomq_app.service.records import QueueFacts
from echomq_app.service.workers import WorkerFacts

NONE = "-"


class Overview(NamedTuple):
    """Queues by name, each with its numbers or with what hides them; and the workers."""

    queues: dict[str, QueueFacts | EchoMQError]
    stale: dict[str, int | EchoMQError]
    """Outcomes that were refused because another claim had the job."""
    workers: Sequence[WorkerFacts]


def overview() -> Overview:
    """Read both; raises what keeps the server from answering."""
    bus = server_bus()
    names = sorted({*echomq_settings().queues, *bus.known_queues()})
    valid = [name for name in names if _is_valid(name)]
    found = dict(zip(valid, bus.facts_of(valid), strict=True))
    for facts in found.values():
        if isinstance(facts, ConnectionLost):
            raise facts
    refused = dict(zip(valid, bus.stale_of(valid), strict=True))
    return Overview(found, refused, workers().list())


def _is_valid(name: str) -> bool:
    """Another program may have listed what is no queue's name."""
    try:
        valid_queue_name(name)
    except InvalidQueueName:
        return False
    return True


def as_json(seen: Overview) -> dict[str, Any]:
    """The same for programs."""
    return {
        "queues": [
            _queue_json(name, facts, seen.stale[name]) for name, facts in seen.queues.items()
        ],
        "workers": [
            {**asdict(one.record), "jobs": [job._asdict() for job in one.record.jobs]}
            | {"seen_s": one.seen_s, "wish": None if one.wish is None else one.wish.value}
            for one in seen.workers
        ],
    }


def _queue_json(
    name: str, facts: QueueFacts | EchoMQError, stale: int | EchoMQError
) -> dict[str, Any]:
    if isinstance(facts, EchoMQError):
        return {"name": name, "error": str(facts)}
    told = {"stale": stale if isinstance(stale, int) else None, "oldest_age_s": facts.oldest_age_s}
    return {"name": name, **told, **facts.counts._asdict()}


def as_text(seen: Overview) -> str:
    """Two tables for people."""
    return "\n".join(
        [
            *table(_queue_head(), _queue_rows(seen), _("No queue.")),
            "",
            *table(_worker_head(), map(_worker_row, seen.workers), _("No worker is known.")),
        ]
    )


def _queue_head() -> list[str]:
    return [
        *(_("Queue"), _("Waiting"), _("In lanes"), _("Running"), _("Scheduled"), _("Dead")),
        *(_("Stale"), _("Oldest"), _("State")),
    ]


def _queue_rows(seen: Overview) -> Iterator[list[str]]:
    for name, facts in seen.queues.items():
        if isinstance(facts, EchoMQError):
            yield [name, *([NONE] * 7), str(facts)]
            continue
        counts, stale = facts.counts, seen.stale[name]
        numbers = (counts.pending, counts.laned, counts.active, counts.schedule, counts.dead)
        state = _("paused") if facts.paused else _("open")
        refused = str(stale) if isinstance(stale, int) else NONE
        yield [name, *map(str, numbers), refused, span(facts.oldest_age_s), state]


def _worker_head() -> list[str]:
    return [
        *(_("Worker"), _("Kind"), _("State"), _("Slots"), _("Running"), _("Seen"), _("Version")),
        _("Queues"),
    ]


def _worker_row(facts: WorkerFacts) -> list[str]:
    one = facts.record
    slots = NONE if one.slots is None else str(one.slots)
    running = NONE if one.slots is None else str(one.running)
    kind = f"{one.kind} ({one.above})" if one.above else one.kind
    return [
        *(one.name, kind, one.state, slots, running, span(facts.seen_s), one.version),
        ",".join(one.queues),
    ]


def span(seconds: float | None) -> str:
    """Seconds in the largest unit that gives a whole number."""
    if seconds is None:
        return NONE
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def table(head: list[str], rows: Iterable[list[str]], empty: str) -> list[str]:
    """Lines with columns as wide as they need; ``empty`` when there is no row."""
    found = [[_printable(cell) for cell in row] for row in rows]
    if not found:
        return [empty]
    widths = [max(map(len, column)) for column in zip(head, *found, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *found)
    ]


def _printable(cell: str) -> str:
    """Controls of a stranger do not reach a terminal."""
    return "".join(one if one.isprintable() else "?" for one in cell)
