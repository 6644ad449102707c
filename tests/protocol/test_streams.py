from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from echomq_app.protocol.entries import MAX_TAIL, RECORD, entry_of
from echomq_app.protocol.errors import (
    InvalidInput,
    InvalidQueueName,
    NoGroup,
    NotMonotonic,
    ServerFull,
    WrongType,
)
from echomq_app.protocol.ids import MAX_SNOWFLAKE, JobId, Minter, encode
from echomq_app.protocol.keyspace import VERSION
from echomq_app.protocol.states import StreamStart
from echomq_app.service.streams import Stream
from tests.protocol.scene import Scene

OLD = encode(1 << 22, RECORD)
NAIVE = datetime(2026, 1, 1)  # a naive instant is what the test refuses


@pytest.mark.parametrize(
    ("record_id", "entry"),
    [
        ("EVT000xY9Wvvcd", "1704117200000-1620567"),
        (encode(0, RECORD), "1704067200000-0"),
        (encode(MAX_SNOWFLAKE, RECORD), f"3903090455551-{MAX_TAIL}"),
    ],
)
def test_an_entry_s_id_is_the_mint_time_and_the_low_bits(record_id: str, entry: str) -> None:
    assert entry_of(record_id) == entry


@pytest.mark.parametrize(
    "wrong",
    ["JOB0KHTOWnGLuC", "EVT", "EVTzzzzzzzzzzz", "evt000xY9Wvvcd", "", None, "EVT000xY9Wvvcd\n"],
)
def test_what_is_no_record_id_is_refused_before_any_wire(scene: Scene, wrong: Any) -> None:
    refused = pytest.raises(InvalidInput, match="EVT and eleven base62 digits; got ")
    with refused:
        entry_of(wrong)
    with refused:
        scene.stream().append({}, wrong or "")
    with refused:
        scene.stream().note_archived(wrong)
    assert scene.client.keys() == []


@pytest.mark.parametrize("name", ["", "a\0b", "log:archived", "x" * 129, 7])
def test_a_name_that_no_stream_has_is_refused_before_any_wire(scene: Scene, name: Any) -> None:
    with pytest.raises(InvalidInput, match="a stream's name is"):
        scene.stream(name)
    assert not scene.client.exists(VERSION)


def test_a_queue_name_is_judged_first(scene: Scene) -> None:
    with pytest.raises(InvalidQueueName):
        Stream(scene.wire, "a{b}", "log", Minter())


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda one: one.append({"id": "mine"}), "the field 'id' is the record's own id"),
        (lambda one: one.append_many([]), "mint at least one id; got 0"),
        (lambda one: one.read(limit=0), "a limit of records is a whole number from 1 to 10000"),
        (lambda one: one.read(NAIVE), "an instant carries its time zone"),
        (lambda one: one.read_group("", "me"), "a group of a stream has a name that is not empty"),
        (lambda one: one.read_group("g", ""), "a consumer of a stream has a name"),
        (lambda one: one.ack("g", []), "acknowledge at least one entry; got none"),
        (lambda one: one.trim_to(-1), "most is a whole number from 0"),
        (lambda one: one.claim_back("g", "me", timedelta(-1)), "idle_ms is a whole number from 0"),
        (lambda one: one.join("g", "yesterday"), "'yesterday' is not a valid StreamStart"),
    ],
    ids=lambda value: "" if callable(value) else value.split(";")[0],
)
def test_wrong_input_is_refused_before_any_wire(
    scene: Scene, act: Callable[[Stream], Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        act(scene.stream())
    assert scene.client.keys() == []


def test_an_older_record_is_refused_with_advice_and_nothing_written(scene: Scene) -> None:
    stream = scene.stream()
    stream.append({"k": "new"})

    with pytest.raises(NotMonotonic, match="append it under an id that is minted now"):
        stream.append({"k": "old"}, OLD)

    assert [record.fields for record in stream.read()] == [{"k": b"new"}]


class Lagging(Minter):
    """A minter whose first ``lag`` ids are old ones: others have appended meanwhile."""

    def __init__(self, lag: int) -> None:
        super().__init__()
        self.lag = lag

    def mint_many(self, count: int) -> list[JobId]:
        self.lag -= 1
        if self.lag < 0:
            return super().mint_many(count)
        return [JobId(encode((1 << 22) + place)) for place in range(count)]


def test_an_id_that_nobody_has_seen_is_minted_anew_when_another_record_came_first(
    scene: Scene,
) -> None:
    scene.stream().append({"k": "theirs"})
    ours = Stream(scene.wire, scene.name, "log", Lagging(3))

    ids = ours.append_many([{"k": 1}, {"k": 2}])

    assert [record.record_id for record in ours.read()][1:] == ids


def test_a_clock_that_is_behind_for_long_is_told(scene: Scene) -> None:
    scene.stream().append({"k": "theirs"})
    ours = Stream(scene.wire, scene.name, "log", Lagging(1000))

    with pytest.raises(NotMonotonic):
        ours.append({"k": "ours"})
    assert ours.size() == 1


class Astride(Minter):
    """A minter whose ids lie on both sides of another program's record."""

    def mint_many(self, count: int) -> list[JobId]:
        return [JobId(encode((1 << 22) + 3 * place)) for place in range(count)]


def test_a_batch_says_of_each_record_whether_it_stands(scene: Scene) -> None:
    scene.client.xadd(scene.stream().key, {"k": "theirs"}, id="1704067200001-5")
    ours = Stream(scene.wire, scene.name, "log", Astride())

    ended = ours.append_many([{"n": number} for number in range(4)])

    assert [type(one) for one in ended] == [NotMonotonic, NotMonotonic, str, str]
    assert [record.record_id for record in ours.read()[1:]] == ended[2:]


def test_entries_of_other_programs_are_read_as_they_are(scene: Scene) -> None:
    stream = scene.stream()
    scene.client.xadd(stream.key, {"a": "1"}, id="5-0")
    scene.client.xadd(stream.key, {"id": OLD, "a": "2"}, id="6-0")

    told = [(one.entry, one.record_id, one.minted_ms) for one in stream.read()]

    assert told == [("5-0", None, 5), ("6-0", None, 6)]
    assert stream.read()[1].fields == {"id": OLD.encode(), "a": b"2"}


def test_values_come_back_as_bytes_whatever_they_were(scene: Scene) -> None:
    stream = scene.stream()

    stream.append({"text": "é ✓", "number": 7, "bytes": b"\xff\x00", "": ""})

    assert stream.read()[0].fields == {
        "text": "é ✓".encode(),
        "number": b"7",
        "bytes": b"\xff\x00",
        "": b"",
    }


@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_follow_each_other_without_a_gap_or_a_repeat(
    scene: Scene, newest_first: bool
) -> None:
    stream = scene.stream()
    ids = stream.append_many([{"n": number} for number in range(7)])
    seen: list[Any] = []
    page = stream.read(limit=3, newest_first=newest_first)

    while page:
        seen += [record.record_id for record in page]
        page = stream.read(after=page[-1], limit=3, newest_first=newest_first)

    assert seen == (ids[::-1] if newest_first else ids)


def test_a_window_is_closed_at_both_ends_to_the_millisecond(scene: Scene) -> None:
    stream = scene.stream()
    ids = [stream.append({}, encode(ms << 22 | MAX_TAIL, RECORD)) for ms in range(5)]
    at = [datetime.fromtimestamp((1_704_067_200_000 + ms) / 1000, UTC) for ms in range(5)]

    assert [one.record_id for one in stream.read(at[1], at[3])] == ids[1:4]
    assert [one.record_id for one in stream.read(until=at[0])] == ids[:1]


def test_a_group_that_is_not_there_is_named_with_advice(scene: Scene) -> None:
    stream = scene.stream()
    for act in (
        lambda: stream.read_group("g", "me"),
        lambda: stream.claim_back("g", "me", timedelta()),
        lambda: stream.unacked("g"),
    ):
        with pytest.raises(NoGroup, match="needs a consumer group that is not there: join it"):
            act()
    assert not scene.client.exists(stream.key)


def test_a_new_group_starts_where_it_was_told_to(scene: Scene) -> None:
    stream = scene.stream()
    before = stream.append({"n": 1})
    stream.join("all", StreamStart.OLDEST)
    stream.join("new", StreamStart.NEW)
    after = stream.append({"n": 2})

    assert [one.record_id for one in stream.read_group("all", "me")] == [before, after]
    assert [one.record_id for one in stream.read_group("new", "me")] == [after]


def test_a_consumer_that_starts_again_reads_its_own_first(scene: Scene) -> None:
    stream = scene.stream()
    stream.join("mail", StreamStart.OLDEST)
    first = stream.append({"n": 1})
    given = stream.read_group("mail", "me")

    assert [one.record_id for one in stream.read_own("mail", "me")] == [first]
    assert stream.read_own("mail", "other") == []
    assert stream.ack("mail", given) == 1
    assert stream.ack("mail", given) == 0
    assert stream.read_own("mail", "me") == []


def test_a_record_that_was_trimmed_before_it_was_acked_is_told_and_can_be_acked(
    scene: Scene,
) -> None:
    stream = scene.stream()
    stream.join("mail", StreamStart.OLDEST)
    stream.append({"n": 1})
    stream.read_group("mail", "me")
    stream.trim_to(0)

    (left,) = stream.read_own("mail", "me")

    assert (left.record_id, left.fields, left.trimmed) == (None, {}, True)
    assert stream.ack("mail", [left]) == 1


def test_a_claim_back_takes_no_more_than_asked_and_leaves_what_is_not_idle(scene: Scene) -> None:
    stream = scene.stream()
    stream.join("mail", StreamStart.OLDEST)
    ids = stream.append_many([{"n": number} for number in range(30)])
    stream.read_group("mail", "gone")

    assert stream.claim_back("mail", "me", timedelta(hours=1)) == []
    taken = stream.claim_back("mail", "me", timedelta(), limit=12)

    assert [one.record_id for one in taken] == ids[:12]
    held = [one.consumer for one in stream.unacked("mail")]
    assert held == ["me"] * 12 + ["gone"] * 18


def test_a_rough_trim_may_leave_more_and_never_less(scene: Scene) -> None:
    stream = scene.stream()
    stream.append_many([{"n": number} for number in range(250)])

    went = stream.trim_to(10, exact=False)

    assert stream.size() == 250 - went >= 10


def test_records_older_than_a_span_go(scene: Scene) -> None:
    stream = scene.stream()
    stream.append({}, OLD)
    new = stream.append({})

    assert stream.trim_before(timedelta(hours=1)) == 1

    assert [one.record_id for one in stream.read()] == [new]


def test_a_stream_that_is_deleted_leaves_nothing(scene: Scene) -> None:
    stream = scene.stream()
    record_id = stream.append({})
    stream.join("mail", StreamStart.OLDEST)
    stream.note_archived(record_id)

    stream.delete()
    stream.delete()

    assert scene.snapshot() == {}


def test_a_key_of_another_type_is_refused(scene: Scene) -> None:
    stream = scene.stream()
    scene.client.set(stream.key, "x")

    for act in (lambda: stream.append({}), stream.read, stream.size, lambda: stream.trim_to(1)):
        with pytest.raises(WrongType, match="something else wrote under this queue's name"):
            act()


def test_a_full_server_refuses_a_record_by_name(scene: Scene) -> None:
    stream = scene.stream()
    stream.append({})
    scene.client.config_set("maxmemory", "1mb")
    try:
        with pytest.raises(ServerFull):
            stream.append({})
        assert stream.size() == 1
    finally:
        scene.client.config_set("maxmemory", "0")
