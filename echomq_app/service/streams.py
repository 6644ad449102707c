"""The verbs of one stream: an event log beside a queue, in mint order."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from echomq_app.protocol import entries
from echomq_app.protocol.calls import Call, Word, streams
from echomq_app.protocol.entries import Record, Unacked
from echomq_app.protocol.errors import EchoMQError, GroupExists, NotMonotonic
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import StreamStart
from echomq_app.service.plans import Plan, one
from echomq_app.service.queue import instant_ms, whole_ms
from echomq_app.wire.aio import AsyncWire
from echomq_app.wire.link import Wire

Fields = Mapping[str, Word]
PAGE: Final = 100
_MOST_MINTS: Final = 8


def append(
    keys: QueueKeys, name: str, minter: Minter, fields: Fields, record_id: str | None
) -> Plan[str]:
    """Append one record under the id given, or under a new one."""
    if record_id is None:
        (ended,) = yield from append_new(keys, name, minter, [fields])
    else:
        (ended,) = yield from _appended(keys, name, [(record_id, fields)])
    if isinstance(ended, EchoMQError):
        raise ended
    return ended


def append_new(
    keys: QueueKeys, name: str, minter: Minter, records: Sequence[Fields]
) -> Plan[list[str | EchoMQError]]:
    """Append under new ids; while all of them come too late, nobody has seen them: mint others."""
    for _ in range(_MOST_MINTS):
        minted = entries.record_ids(minter.mint_many(len(records)))
        ended = yield from _appended(keys, name, list(zip(minted, records, strict=True)))
        if not all(isinstance(end, NotMonotonic) for end in ended):
            break
    return ended


def _appended(
    keys: QueueKeys, name: str, records: Sequence[tuple[str, Fields]]
) -> Plan[list[str | EchoMQError]]:
    wanted = [streams.append(keys, name, record_id, fields) for record_id, fields in records]
    answers = yield wanted
    ended: list[str | EchoMQError] = []
    for (record_id, fields), answer in zip(records, answers, strict=True):
        lost = answer.resent and isinstance(answer.error, NotMonotonic)
        if lost and (yield from _stands(keys, name, record_id, fields)):
            ended.append(record_id)
        else:
            ended.append(answer.error or answer.unwrap())
    return ended


def _stands(keys: QueueKeys, name: str, record_id: str, fields: Fields) -> Plan[bool]:
    """Whether a lost sending has appended this very record."""
    entry = entries.entry_of(record_id)
    found = yield from one(streams.read(keys, name, entry, entry))
    return [(each.record_id, each.fields) for each in found] == [
        (record_id, entries.packed(fields))
    ]


def page(
    keys: QueueKeys,
    name: str,
    since: datetime | None,
    until: datetime | None,
    after: Record | None,
    limit: int,
    *,
    newest_first: bool,
) -> Call[list[Record]]:
    """Part of a stream; ``after`` is the last record of the page before it."""
    start, end = streams.bounds(
        None if since is None else instant_ms(since), None if until is None else instant_ms(until)
    )
    if after is not None:
        start, end = (start, f"({after.entry}") if newest_first else (f"({after.entry}", end)
    return streams.read(keys, name, start, end, limit, newest_first=newest_first)


def claim_back(
    keys: QueueKeys, name: str, who: tuple[str, str], idle_ms: int, limit: int
) -> Plan[list[Record]]:
    """Go through what the group has not acked, in bounded steps, until ``limit`` are taken."""
    taken: list[Record] = []
    cursor = streams.FROM_THE_START
    while len(taken) < limit:
        step = streams.claim_back(
            keys, name, *who, idle_ms=idle_ms, limit=limit - len(taken), cursor=cursor
        )
        cursor, found = yield from one(step)
        taken += found
        if cursor == streams.FROM_THE_START:
            break
    return taken


class Stream:
    """The verbs of one stream over a wire. Holds no records; share it between threads.

    ``minter`` is the process's own: two that share a node mint the same ids.
    """

    def __init__(self, wire: Wire, queue: str, name: str, minter: Minter) -> None:
        self.keys = QueueKeys(queue)
        self.key = self.keys.stream(name)
        self.name = name
        self.wire = wire
        self._minter = minter

    def append(self, fields: Fields, record_id: str | None = None) -> str:
        """Append a record; its id, minted here unless one is given.

        Safe to repeat with the same id. An id of the caller's that is not newer than every record
        raises ``NotMonotonic``; one minted here, which nobody has seen, is minted anew.
        """
        return self.wire.follow(append(self.keys, self.name, self._minter, fields, record_id))

    def append_many(self, records: Sequence[Fields]) -> list[str | EchoMQError]:
        """Append records in their order, in one round trip; an id each, or why it was refused.

        ``NotMonotonic`` stands where another program's newer record came between. When that was
        there before all of them, all are minted anew.
        """
        return self.wire.follow(append_new(self.keys, self.name, self._minter, records))

    def read(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        *,
        after: Record | None = None,
        limit: int = PAGE,
        newest_first: bool = False,
    ) -> list[Record]:
        """Records minted from ``since`` to ``until``, both included; ``after``: a page's last record."""
        return self.wire.run(
            page(self.keys, self.name, since, until, after, limit, newest_first=newest_first)
        )

    def size(self) -> int:
        """How many records there are."""
        return self.wire.run(streams.size(self.keys, self.name))

    def join(self, group: str, start: StreamStart) -> bool:
        """Make the group unless it is there; whether it is new. ``start`` counts for a new one alone."""
        (answer,) = self.wire.answer((streams.join(self.keys, self.name, group, start),))
        if isinstance(answer.error, GroupExists):
            return answer.resent
        answer.unwrap()
        return True

    def read_group(self, group: str, consumer: str, limit: int = PAGE) -> list[Record]:
        """New records for this consumer, to be acked when done; ``NoGroup`` before a ``join``.

        Never repeated: after ``ConnectionLost`` read what is this consumer's with ``read_own``.
        """
        return self.wire.run(streams.read_group(self.keys, self.name, group, consumer, limit))

    def read_own(self, group: str, consumer: str, limit: int = PAGE) -> list[Record]:
        """What this consumer was given and has not acked: where it starts after a restart."""
        return self.wire.run(streams.read_own(self.keys, self.name, group, consumer, limit))

    def ack(self, group: str, done: Sequence[Record]) -> int:
        """The group is done with these records; how many it was not done with before."""
        names = [record.entry for record in done]
        return self.wire.run(streams.ack(self.keys, self.name, group, names))

    def claim_back(
        self, group: str, consumer: str, idle_for: timedelta, limit: int = PAGE
    ) -> list[Record]:
        """Take over what any consumer left un-acked for ``idle_for``; to be acked when done.

        Never repeated: after ``ConnectionLost`` read what is this consumer's with ``read_own``.
        """
        who = (group, consumer)
        return self.wire.follow(claim_back(self.keys, self.name, who, whole_ms(idle_for), limit))

    def unacked(self, group: str, limit: int = PAGE) -> list[Unacked]:
        """What the group's consumers hold, with how often each record was given out."""
        return self.wire.run(streams.unacked(self.keys, self.name, group, limit))

    def trim_to(self, most: int, *, exact: bool = True) -> int:
        """Keep the newest ``most`` records; how many went. Not ``exact``: a few more may stay."""
        return self.wire.run(streams.trim_to(self.keys, self.name, most, exact=exact))

    def trim_before(self, edge: datetime | timedelta, *, exact: bool = True) -> int:
        """Drop records minted before an instant, or longer ago than a span; how many went."""
        if isinstance(edge, timedelta):
            edge_ms = max(0, int(time.time() * 1000) - whole_ms(edge))
        else:
            edge_ms = instant_ms(edge)
        return self.wire.run(streams.trim_before(self.keys, self.name, edge_ms, exact=exact))

    def delete(self) -> None:
        """Let it go: records, groups, and what was noted as archived."""
        self.wire.run(streams.delete(self.keys, self.name))

    def archived(self) -> str | None:
        """The newest record that is archived elsewhere, ``None`` when none was noted."""
        return self.wire.run(streams.archived(self.keys, self.name))

    def note_archived(self, record_id: str) -> None:
        """Note that records up to this one are archived elsewhere, whatever was noted before."""
        self.wire.run(streams.note_archived(self.keys, self.name, record_id))

    def clear_archived(self) -> None:
        """Forget what was noted as archived."""
        self.wire.run(streams.clear_archived(self.keys, self.name))


class AsyncStream:
    """Appending to and reading one stream, awaited. Promises and errors are those of ``Stream``."""

    def __init__(self, wire: AsyncWire, queue: str, name: str, minter: Minter) -> None:
        self.keys = QueueKeys(queue)
        self.key = self.keys.stream(name)
        self.name = name
        self.wire = wire
        self._minter = minter

    async def append(self, fields: Fields, record_id: str | None = None) -> str:
        return await self.wire.follow(append(self.keys, self.name, self._minter, fields, record_id))

    async def append_many(self, records: Sequence[Fields]) -> list[str | EchoMQError]:
        return await self.wire.follow(append_new(self.keys, self.name, self._minter, records))

    async def read(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        *,
        after: Record | None = None,
        limit: int = PAGE,
        newest_first: bool = False,
    ) -> list[Record]:
        return await self.wire.run(
            page(self.keys, self.name, since, until, after, limit, newest_first=newest_first)
        )
