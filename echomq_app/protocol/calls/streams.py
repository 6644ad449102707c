"""A stream of records beside a queue: appended in mint order, read by range or by a group (4.22).

Plain commands of the server, each an atom by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from echomq_app.protocol import entries, replies
from echomq_app.protocol.calls.call import Call, Word, command, whole
from echomq_app.protocol.entries import ClaimedBack, Record, Unacked
from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Repeat, StreamStart

MOST_RECORDS: Final = 10_000
FROM_THE_START: Final = "0-0"


def append(keys: QueueKeys, name: str, record_id: str, fields: Mapping[str, Word]) -> Call[str]:
    """Append a record under its own id; ``NotMonotonic`` when the stream holds one as new."""
    words: list[Word] = [entries.entry_of(record_id), entries.ID_FIELD, record_id]
    for field, value in entries.packed(fields).items():
        words += [field, value]
    key = keys.stream(name)
    return command(key, "XADD", key, *words, read=lambda _: record_id)


def read(
    keys: QueueKeys,
    name: str,
    start: str = "-",
    end: str = "+",
    limit: int = MOST_RECORDS,
    *,
    newest_first: bool = False,
) -> Call[list[Record]]:
    """Records from ``start`` to ``end``, both included, oldest first unless told otherwise."""
    key, count = keys.stream(name), whole("a limit of records", limit, 1, MOST_RECORDS)
    words = ("XREVRANGE", key, end, start) if newest_first else ("XRANGE", key, start, end)
    return command(key, *words, "COUNT", count, read=entries.records)


def bounds(since_ms: int | None, until_ms: int | None) -> tuple[str, str]:
    """The range of records minted from ``since_ms`` to ``until_ms``, both included; ``None`` is open."""
    if since_ms is not None and until_ms is not None and until_ms < since_ms:
        raise InvalidInput(f"a window ends after it starts; got {since_ms} to {until_ms}")
    start = "-" if since_ms is None else f"{max(since_ms, 0)}-0"
    return start, "+" if until_ms is None else f"{max(until_ms, 0)}-{entries.MAX_TAIL}"


def size(keys: QueueKeys, name: str) -> Call[int]:
    """How many records a stream holds."""
    key = keys.stream(name)
    return command(key, "XLEN", key, read=replies.number)


def join(keys: QueueKeys, name: str, group: str, start: StreamStart) -> Call[None]:
    """Make a consumer group, and the stream with it; ``GroupExists`` when it is there."""
    key, place = keys.stream(name), StreamStart(start).value
    words = ("XGROUP", "CREATE", key, _named("group", group), place, "MKSTREAM")
    return command(key, *words, read=replies.nothing)


def read_group(
    keys: QueueKeys, name: str, group: str, consumer: str, limit: int
) -> Call[list[Record]]:
    """Records that no consumer of the group was given yet; they are this consumer's until acked."""
    return _group_read(keys, name, group, consumer, limit, ">", Repeat.NEVER)


def read_own(
    keys: QueueKeys, name: str, group: str, consumer: str, limit: int
) -> Call[list[Record]]:
    """What the consumer was given and has not acked, oldest first."""
    return _group_read(keys, name, group, consumer, limit, FROM_THE_START, Repeat.SAFE)


def _group_read(
    keys: QueueKeys,
    name: str,
    group: str,
    consumer: str,
    limit: int,
    after: str,
    repeat: Repeat,
) -> Call[list[Record]]:
    key = keys.stream(name)
    who = ("GROUP", _named("group", group), _named("consumer", consumer))
    count = whole("a limit of records", limit, 1, MOST_RECORDS)
    words: tuple[Word, ...] = ("XREADGROUP", *who, "COUNT", count, "STREAMS", key, after)
    return Call("read_group", None, (key,), words, entries.group_records, repeat)


def ack(keys: QueueKeys, name: str, group: str, done: Sequence[str]) -> Call[int]:
    """The group is done with these entries; how many were un-acked until now."""
    if not done:
        raise InvalidInput("acknowledge at least one entry; got none")
    key = keys.stream(name)
    return command(key, "XACK", key, _named("group", group), *done, read=replies.number)


def claim_back(
    keys: QueueKeys,
    name: str,
    group: str,
    consumer: str,
    *,
    idle_ms: int,
    limit: int,
    cursor: str = FROM_THE_START,
) -> Call[ClaimedBack]:
    """Take over records that were given to any consumer ``idle_ms`` ago or longer, and not acked."""
    key = keys.stream(name)
    who = (_named("group", group), _named("consumer", consumer))
    idle = whole("idle_ms", idle_ms, 0)
    count = whole("a limit of records", limit, 1, MOST_RECORDS)
    words: tuple[Word, ...] = ("XAUTOCLAIM", key, *who, idle, cursor, "COUNT", count)
    return Call("claim_back", None, (key,), words, entries.claimed_back, Repeat.NEVER)


def unacked(keys: QueueKeys, name: str, group: str, limit: int) -> Call[list[Unacked]]:
    """The group's un-acked entries, oldest first: whose, for how long, given how often."""
    key, count = keys.stream(name), whole("a limit of records", limit, 1, MOST_RECORDS)
    words = ("XPENDING", key, _named("group", group), "-", "+", count)
    return command(key, *words, read=entries.unacked)


def trim_to(keys: QueueKeys, name: str, most: int, *, exact: bool = True) -> Call[int]:
    """Keep the newest ``most`` records; how many went."""
    return _trim(keys, name, "MAXLEN", whole("most", most, 0), exact)


def trim_before(keys: QueueKeys, name: str, before_ms: int, *, exact: bool = True) -> Call[int]:
    """Drop records minted before ``before_ms``; one minted in that very millisecond stays."""
    return _trim(keys, name, "MINID", f"{whole('before_ms', before_ms, 0)}-0", exact)


def _trim(keys: QueueKeys, name: str, how: str, edge: Word, exact: bool) -> Call[int]:
    key = keys.stream(name)
    return command(key, "XTRIM", key, how, "=" if exact else "~", edge, read=replies.number)


def delete(keys: QueueKeys, name: str) -> Call[None]:
    """Let a stream go: records, groups, and what was noted as archived."""
    names = (keys.stream(name), keys.archived(name))
    return command(names[0], "UNLINK", *names, read=replies.nothing)


def archived(keys: QueueKeys, name: str) -> Call[str | None]:
    """The newest record that is archived elsewhere, as an archiver noted it."""
    key = keys.archived(name)
    return command(key, "GET", key, read=lambda raw: None if raw is None else replies.text(raw))


def note_archived(keys: QueueKeys, name: str, record_id: str) -> Call[None]:
    """Note that records up to this one are archived elsewhere."""
    key = keys.archived(name)
    return command(key, "SET", key, entries.valid_record_id(record_id), read=replies.nothing)


def clear_archived(keys: QueueKeys, name: str) -> Call[None]:
    """Forget what was noted as archived."""
    key = keys.archived(name)
    return command(key, "DEL", key, read=replies.nothing)


def _named(what: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"a {what} of a stream has a name that is not empty; got {value!r:.60}")
    return value
