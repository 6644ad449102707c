from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, WrongType
from echomq_app.protocol.replies import Slot
from tests.protocol.scene import Scene
from tests.protocol.schedules import slots_of

DUE_MS = 1_900_000_000_000
LATER_MS = DUE_MS + 60_000


def test_a_schedule_is_a_name_with_its_due_time_and_a_record(scene: Scene) -> None:
    slot = slots_of(scene).write("daily", b"template", DUE_MS)

    assert slot is not None
    assert scene.score("slots", "daily") == DUE_MS
    record = scene.client.hgetall(scene.key("slot:daily"))
    assert record == {b"template": b"template", b"revision": slot.revision.encode()}
    assert slots_of(scene).read("daily") == slot
    assert slots_of(scene).count() == 1


def test_each_write_has_a_revision_of_its_own(scene: Scene) -> None:
    first = slots_of(scene).write("daily", b"template", DUE_MS)
    second = slots_of(scene).write("daily", b"template", DUE_MS, first)

    assert first is not None
    assert second is not None
    assert first.revision != second.revision
    assert slots_of(scene).read("daily") == second


def test_an_edit_of_what_was_seen_is_written(scene: Scene) -> None:
    slots_of(scene).write("daily", b"old", DUE_MS)

    edited = slots_of(scene).write("daily", b"new", LATER_MS, slots_of(scene).read("daily"))

    assert edited is not None
    assert slots_of(scene).read("daily") == edited
    assert (edited.template, edited.due_ms) == (b"new", LATER_MS)


@pytest.mark.parametrize("stale", ["revision", "due time", "nothing", "removed"])
def test_an_edit_of_what_does_not_stand_there_any_more_changes_nothing(
    scene: Scene, stale: str
) -> None:
    seen = slots_of(scene).write("daily", b"old", DUE_MS)
    if stale == "revision":
        slots_of(scene).write("daily", b"theirs", DUE_MS, seen)
    if stale == "due time":
        scene.client.zadd(scene.keys.slots, {"daily": LATER_MS})
    if stale == "removed":
        slots_of(scene).remove("daily")
    before = scene.snapshot()

    edited = slots_of(scene).write("daily", b"mine", LATER_MS, None if stale == "nothing" else seen)

    assert edited is None
    assert scene.snapshot() == before


def test_a_write_that_is_sent_again_does_not_take_back_a_slot_that_was_fired_since(
    scene: Scene,
) -> None:
    call = calls.slot_write(scene.keys, Slot("daily", DUE_MS, "r1", b"template"), None)
    scene.run(call)
    scene.client.zadd(scene.keys.slots, {"daily": LATER_MS})

    assert scene.run(call) is True

    assert scene.score("slots", "daily") == LATER_MS


@pytest.mark.parametrize("half", ["name", "record"])
def test_half_a_schedule_can_be_written_over_by_whoever_saw_it(scene: Scene, half: str) -> None:
    if half == "name":
        scene.client.zadd(scene.keys.slots, {"daily": 5})
    else:
        scene.client.hset(scene.key("slot:daily"), mapping={"revision": "r", "template": "t"})
    seen = slots_of(scene).read("daily")
    assert seen == (Slot("daily", 5, "", b"") if half == "name" else Slot("daily", None, "r", b"t"))

    assert slots_of(scene).write("daily", b"whole", DUE_MS) is None
    assert slots_of(scene).write("daily", b"whole", DUE_MS, seen) is not None


def test_what_was_never_written_reads_as_none(scene: Scene) -> None:
    assert slots_of(scene).read("daily") is None


@pytest.mark.parametrize("due_ms", [-1, 1.5, None])
def test_a_due_time_that_is_none_is_refused_before_any_wire(scene: Scene, due_ms: int) -> None:
    with pytest.raises(InvalidInput, match="due_ms is a whole number from 0"):
        slots_of(scene).write("daily", b"template", due_ms)


def test_no_name_and_no_revision_are_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidInput, match="a schedule's name is text and not empty"):
        slots_of(scene).write("", b"template", DUE_MS)
    with pytest.raises(InvalidInput, match="a revision is text and not empty"):
        calls.slot_write(scene.keys, Slot("daily", DUE_MS, "", b"template"), None)


@pytest.mark.parametrize("key", ["slots", "slot:daily"])
def test_a_key_of_another_type_is_refused_with_nothing_written(scene: Scene, key: str) -> None:
    scene.client.set(scene.key(key), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        slots_of(scene).write("daily", b"template", DUE_MS)

    assert scene.snapshot() == before
