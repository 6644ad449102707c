"""What is published on a queue's channel: an event of a job as one flat JSON object (4.21).

Nobody keeps it: who does not listen at that moment never hears it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call
from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.ids import valid_job_id
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Repeat


class Published(StrEnum):
    """The events that our workers publish. An application may publish others."""

    COMPLETED = "completed"
    FAILED = "failed"
    DELAYED = "delayed"
    PROGRESS = "progress"


class QueueEvent(NamedTuple):
    """An event as a subscriber hears it. ``facts`` are what the publisher said besides."""

    queue: str
    event: str
    job_id: str
    facts: dict[str, str]


_OURS = ("event", "job")


def publish(keys: QueueKeys, event: str, job_id: str, facts: Mapping[str, object]) -> Call[int]:
    """Publish an event of a job; how many subscribers of this server heard it."""
    if not event:
        raise InvalidInput("an event has a name that is not empty")
    taken = [name for name in facts if name in _OURS]
    if taken:
        raise InvalidInput(f"{taken[0]!r} is the event's own word: name your fact otherwise")
    told = {"event": event, "job": valid_job_id(job_id)} | {
        name: str(fact) for name, fact in facts.items()
    }
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    words = ("PUBLISH", keys.events, text.encode("utf-8", "replace"))
    return Call("publish", None, (keys.events,), words, replies.number, Repeat.NEVER)


def read(queue: str, raw: bytes) -> QueueEvent | None:
    """The event that a message tells; ``None`` for a message that is none.

    Control characters inside its texts are taken: other speakers write them bare.
    """
    try:
        told: Any = json.loads(raw, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or not isinstance(told.get("event"), str):
        return None
    facts = {name: _flat(fact) for name, fact in told.items() if name not in _OURS}
    return QueueEvent(queue, told["event"], _flat(told.get("job", "")), facts)


def _flat(fact: object) -> str:
    return fact if isinstance(fact, str) else json.dumps(fact, ensure_ascii=False)
