"""Scenarios of streams: an event log beside a queue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.entries import RECORD
from echomq_app.protocol.errors import InvalidInput, NotMonotonic
from echomq_app.protocol.ids import encode, minted_ms, parse
from echomq_app.protocol.states import StreamStart
from tests.protocol.scene import Scene, new_id

SNOWFLAKE_MS = 1 << 22
MANY = 2000
"""So many replies that words which the server pushes come between them."""
BASE = parse("EVT0JZGkP9ARCC").snowflake


def record_at(ms: int, tail: int = 0) -> str:
    """The record id that is minted ``ms`` after a fixed instant."""
    return encode(BASE + ms * SNOWFLAKE_MS + tail, RECORD)


def instant(ms: int) -> datetime:
    """An instant of the fixed clock."""
    return datetime.fromtimestamp(minted_ms(record_at(ms)) / 1000, UTC)


def test_74_stream_verbs(scene: Scene) -> None:
    stream = scene.stream()
    push_between_replies(scene)

    ids = stream.append_many([{"n": number} for number in range(MANY)])
    read = stream.read(limit=MANY)
    assert [record.record_id for record in read] == ids == sorted(map(str, ids))
    assert [record.fields for record in read] == [{"n": b"%d" % n} for n in range(MANY)]

    assert stream.join("mail", StreamStart.OLDEST) is True
    assert stream.join("mail", StreamStart.OLDEST) is False
    given = stream.read_group("mail", "one", limit=3)
    assert [record.record_id for record in given] == ids[:3]
    assert stream.ack("mail", given[:1]) == 1
    taken = stream.claim_back("mail", "two", timedelta())
    assert [record.record_id for record in taken] == ids[1:3]
    assert [one.deliveries for one in stream.unacked("mail")] == [2, 2]


def push_between_replies(scene: Scene) -> None:
    """Let the server push word of each change to the connection that makes it."""
    key = scene.stream().key
    for words in (("HELLO", "3"), ("CLIENT", "TRACKING", "ON", "BCAST")):
        scene.run(calls.command(key, *words, read=bool))


def test_75_stream_append(scene: Scene) -> None:
    stream = scene.stream()
    first, second = record_at(0), record_at(0, tail=1)

    assert stream.append({"k": "v1"}, first) == first
    with pytest.raises(NotMonotonic):
        stream.append({"k": "v3"}, first)
    assert stream.size() == 1

    assert stream.append({"k": "v2"}, second) == second
    assert [record.record_id for record in stream.read()] == [first, second]
    with pytest.raises(InvalidInput, match="records of one brand"):
        scene.stream("other").append({"k": "v4"}, new_id())
    assert not scene.client.exists(scene.stream("other").key)


def test_76_stream_group(scene: Scene) -> None:
    stream = scene.stream()
    stream.join("mail", StreamStart.NEW)
    done, left = map(str, stream.append_many([{"n": 1}, {"n": 2}]))
    given = stream.read_group("mail", "one")

    stream.ack("mail", [record for record in given if record.record_id == done])

    taken = stream.claim_back("mail", "two", timedelta())
    assert [record.record_id for record in taken] == [left]
    assert stream.read_group("mail", "two") == []


def test_77_stream_retention(scene: Scene) -> None:
    stream = scene.stream()
    ids = [stream.append({"n": number}, record_at(number)) for number in range(6)]

    assert stream.trim_to(2) == 4
    assert [record.record_id for record in stream.read()] == ids[4:]

    assert stream.trim_before(instant(5)) == 1
    assert [record.record_id for record in stream.read()] == ids[5:]
    assert stream.trim_before(instant(5)) == 0


def test_78_stream_archived(scene: Scene) -> None:
    stream = scene.stream()
    assert stream.archived() is None

    stream.note_archived(record_at(1))
    assert stream.archived() == record_at(1)
    stream.note_archived(record_at(2))
    assert stream.archived() == record_at(2)

    stream.clear_archived()
    assert stream.archived() is None


def test_79_stream_time_travel(scene: Scene) -> None:
    stream = scene.stream()
    ids = [
        stream.append({"n": number}, record_at(number // 3, tail=number)) for number in range(30)
    ]

    for low, high in [(0, 9), (3, 5), (4, 4), (9, 20), (11, 20)]:
        window = [record.record_id for record in stream.read(instant(low), instant(high))]
        assert window == [
            one
            for one in ids
            if minted_ms(record_at(low)) <= minted_ms(one) <= minted_ms(record_at(high))
        ]
    assert [record.record_id for record in stream.read(since=instant(8))] == ids[24:]
    with pytest.raises(InvalidInput, match="a window ends after it starts"):
        stream.read(instant(2), instant(1))
