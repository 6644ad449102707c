from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidInput, WrongType
from echomq_app.protocol.replies import Slot
from tests.protocol.scene import Scene
from tests.protocol.schedules import MINUTE_MS, due_slot, slots_of


def test_what_is_due_is_told_with_all_that_firing_needs(scene: Scene) -> None:
    second, first = due_slot(scene, "second"), due_slot(scene, "first", ago_ms=5000)
    before = scene.server_ms()

    due = slots_of(scene).due()

    assert due.slots == [first, second]
    assert before <= due.now_ms <= scene.server_ms()
    assert due.next_ms is None


def test_what_is_not_due_is_told_by_how_long_it_takes(scene: Scene) -> None:
    due_slot(scene, "later", ago_ms=-MINUTE_MS)
    due_slot(scene, "much later", ago_ms=-2 * MINUTE_MS)

    due = slots_of(scene).due()

    assert due.slots == []
    assert due.next_ms is not None
    assert MINUTE_MS - 1000 < due.next_ms <= MINUTE_MS


def test_a_page_is_bounded_and_says_that_more_is_due(scene: Scene) -> None:
    for number in range(5):
        due_slot(scene, f"daily {number}", ago_ms=5000 - number)

    due = slots_of(scene).due(3)

    assert [slot.name for slot in due.slots] == ["daily 0", "daily 1", "daily 2"]
    assert due.next_ms == 0


def test_without_schedules_nothing_is_due_ever(scene: Scene) -> None:
    due = slots_of(scene).due()

    assert (due.slots, due.next_ms) == ([], None)


@pytest.mark.parametrize("broken", ["gone", "a string", "no revision"])
def test_a_record_that_cannot_be_read_is_told_without_revision_and_hides_no_other(
    scene: Scene, broken: str
) -> None:
    scene.client.zadd(scene.keys.slots, {"broken": 5})
    if broken == "a string":
        scene.client.set(scene.key("slot:broken"), "x")
    if broken == "no revision":
        scene.client.hset(scene.key("slot:broken"), "template", "t")
    good = due_slot(scene)

    found, behind = slots_of(scene).due().slots

    assert (found.name, found.due_ms, found.revision) == ("broken", 5, "")
    assert behind == good


def test_a_template_of_any_bytes_comes_back_as_it_was_written(scene: Scene) -> None:
    slots_of(scene).write("raw é", b"\x00\xff\n", 5)

    (slot,) = slots_of(scene).due().slots

    assert slot == Slot("raw é", 5, slot.revision, b"\x00\xff\n")


def test_a_page_of_none_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidInput, match="a limit is a whole number from 1"):
        slots_of(scene).due(0)


def test_a_registry_of_another_type_is_refused(scene: Scene) -> None:
    scene.client.set(scene.keys.slots, "x")

    with pytest.raises(WrongType):
        slots_of(scene).due()
