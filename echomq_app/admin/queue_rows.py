"""The rows of the queue list."""

from __future__ import annotations

from dataclasses import dataclass

from echomq_app.admin.text import visible
from echomq_app.admin.trouble import FAILURES, Trouble, trouble
from echomq_app.conf import echomq_settings
from echomq_app.connections import address, server_bus
from echomq_app.protocol.errors import ConnectionLost, InvalidQueueName
from echomq_app.protocol.keyspace import valid_queue_name
from echomq_app.service.records import QueueFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue with its numbers, or with the trouble that hides them; neither: it was not asked.

    ``linked``: it has pages; what stands in the server's list may be no queue's name.
    """

    name: str
    linked: bool = True
    facts: QueueFacts | None = None
    trouble: Trouble | None = None


def queue_rows() -> tuple[list[QueueRow], Trouble | None]:
    """The queues of the settings and those in use, and what hides the latter, if anything does."""
    try:
        names = set(echomq_settings().queues)
    except FAILURES as failure:
        return [], trouble(failure)
    try:
        names.update(server_bus().known_queues())
    except FAILURES as failure:
        return _unread(sorted(names)), trouble(failure)
    return _read(sorted(names))


def _read(names: list[str]) -> tuple[list[QueueRow], Trouble | None]:
    """All queues in one pipeline; once the server is silent none is shown with numbers."""
    rows: list[QueueRow] = []
    valid: list[str] = []
    for name in names:
        refused = _refused(name)
        if refused is None:
            valid.append(name)
        else:
            rows.append(refused)
    for name, facts in zip(valid, server_bus().facts_of(valid), strict=True):
        if isinstance(facts, ConnectionLost):
            return _unread(names), trouble(facts)
        if isinstance(facts, QueueFacts):
            rows.append(QueueRow(name=name, facts=facts))
        else:
            rows.append(QueueRow(name=name, trouble=trouble(facts)))
    return sorted(rows, key=lambda row: row.name), None


def _refused(name: str) -> QueueRow | None:
    """The row of what another program put into the list and is no queue's name."""
    try:
        valid_queue_name(name)
    except InvalidQueueName as failure:
        return QueueRow(name=visible(name), linked=False, trouble=trouble(failure))
    return None


def server_address() -> str:
    """Where the queues live, without secrets; empty while the settings cannot be used."""
    try:
        return address()
    except FAILURES:
        return ""


def _unread(names: list[str]) -> list[QueueRow]:
    return [QueueRow(name=name) for name in names]
