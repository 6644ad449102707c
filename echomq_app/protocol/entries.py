"""A stream's records: which entry of the server each one is, and how entries are read (4.22).

An entry's id is the record's mint time in ms and the low 22 bits of its snowflake, so the order of
entries, of mint times and of record ids is one order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.ids import JOB, is_branded, parse
from echomq_app.protocol.replies import text

RECORD: Final = "EVT"
"""The one brand of a stream's records."""
MAX_TAIL: Final = (1 << 22) - 1
ID_FIELD: Final = "id"


class Record(NamedTuple):
    """One entry of a stream.

    ``entry`` is the server's own id, ``record_id`` the branded one: ``None`` where another program
    appended an entry that has none, and for an entry that was trimmed away before it was acked.
    """

    entry: str
    record_id: str | None
    fields: dict[str, bytes]
    trimmed: bool = False

    @property
    def minted_ms(self) -> int:
        """When it was minted, on its producer's clock, in ms since 1970."""
        return int(self.entry.partition("-")[0])


class ClaimedBack(NamedTuple):
    """Part of a group's un-acked records, now another consumer's; ``cursor`` goes on, 0-0 at the end."""

    cursor: str
    records: list[Record]


class Unacked(NamedTuple):
    """An entry that a group's consumer was given and has not acked."""

    entry: str
    consumer: str
    idle_ms: int
    deliveries: int


def valid_record_id(value: object) -> str:
    """Return ``value`` if a stream may hold it, else raise ``InvalidInput`` before any wire."""
    if not isinstance(value, str) or not is_branded(value) or not value.startswith(RECORD):
        raise InvalidInput(
            f"a stream holds records of one brand, {RECORD} and eleven base62 digits; got {value!r:.60}"
        )
    return value


def record_ids(minted: Sequence[str]) -> list[str]:
    """The record ids of freshly minted job ids: the same mints under the stream's brand."""
    return [RECORD + job_id[len(JOB) :] for job_id in minted]


def entry_of(record_id: str) -> str:
    """The server's id of a record: ``<mint ms>-<low 22 bits>``."""
    mint = parse(valid_record_id(record_id))
    return f"{mint.ms}-{mint.snowflake & MAX_TAIL}"


def packed(fields: Mapping[str, str | bytes | int]) -> dict[str, bytes]:
    """Fields as they are stored; ``id`` is the record's own."""
    if ID_FIELD in fields:
        raise InvalidInput(f"the field {ID_FIELD!r} is the record's own id: name yours otherwise")
    return {
        name: value if isinstance(value, bytes) else str(value).encode()
        for name, value in fields.items()
    }


def records(raw: Any) -> list[Record]:
    """The entries of a range."""
    return [_record(entry, words) for entry, words in raw or ()]


def group_records(raw: Any) -> list[Record]:
    """The entries of a read of one stream; RESP3 gives a map where RESP2 gives pairs."""
    if not raw:
        return []
    ((_, found),) = raw.items() if isinstance(raw, dict) else raw
    return records(found)


def claimed_back(raw: Any) -> ClaimedBack:
    """The reply of a claim-back; entries that were trimmed away the server has dropped."""
    return ClaimedBack(text(raw[0]), records(raw[1]))


def unacked(raw: Any) -> list[Unacked]:
    """A group's un-acked entries."""
    return [Unacked(text(one[0]), text(one[1]), int(one[2]), int(one[3])) for one in raw]


def _record(raw_entry: Any, words: Any) -> Record:
    entry = text(raw_entry)
    if words is None:
        return Record(entry, None, {}, trimmed=True)
    fields = {text(name): value for name, value in zip(words[::2], words[1::2], strict=True)}
    told = text(fields.get(ID_FIELD, b""))
    if not (is_branded(told) and told.startswith(RECORD) and entry_of(told) == entry):
        return Record(entry, None, fields)
    del fields[ID_FIELD]
    return Record(entry, told, fields)
