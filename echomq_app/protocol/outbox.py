"""What a queue's outbox holds: how children ended whose parents are on other queues (protocol 4.12)."""

from __future__ import annotations

from typing import NamedTuple

from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.ids import valid_job_id
from echomq_app.protocol.keyspace import valid_queue_name
from echomq_app.protocol.states import Fate


class Told(NamedTuple):
    """What a child tells a parent on another queue."""

    queue: str
    parent: str
    child: str
    fate: Fate
    text: bytes


def read_entry(entry: bytes) -> Told | None:
    """Read an entry; ``None`` when it names no parent."""
    words = entry.split(b"\0", 3)
    fate, place = Fate.DONE, words
    if not words[0]:
        words = entry.split(b"\0", 6)
        place = words[2:5]
        if len(words) != 7 or words[1] != b"fail":
            return None
        fate = Fate.IGNORED if words[5] == Fate.IGNORED.encode() else Fate.FAILS
    elif len(words) != 4:
        return None
    try:
        queue, parent, child = (word.decode() for word in place[:3])
        return Told(valid_queue_name(queue), valid_job_id(parent), child, fate, words[-1])
    except (UnicodeDecodeError, InvalidInput):
        return None
