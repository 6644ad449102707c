"""The rows of the queue list."""

from __future__ import annotations

from dataclasses import dataclass

from echomq_app.admin.text import visible
from echomq_app.admin.trouble import FAILURES, Trouble, trouble
from echomq_app.conf import echomq_settings
from echomq_app.connections import queue_named, server_bus
from echomq_app.protocol.errors import ConnectionLost, InvalidQueueName
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
    """Ask each queue for itself; once the server is silent the others are not asked."""
    rows: list[QueueRow] = []
    for index, name in enumerate(names):
        try:
            rows.append(QueueRow(name=name, facts=queue_named(name).facts()))
        except InvalidQueueName as failure:
            rows.append(QueueRow(name=visible(name), linked=False, trouble=trouble(failure)))
        except ConnectionLost as silence:
            return rows + _unread(names[index:]), trouble(silence)
        except FAILURES as failure:
            rows.append(QueueRow(name=name, trouble=trouble(failure)))
    return rows, None


def _unread(names: list[str]) -> list[QueueRow]:
    return [QueueRow(name=name) for name in names]
