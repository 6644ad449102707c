from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidInput
from tests.protocol.scene import Scene
from tests.protocol.schedules import due_slot, slots_of


def test_a_schedule_that_is_removed_leaves_nothing(scene: Scene) -> None:
    due_slot(scene)

    assert slots_of(scene).remove("daily") is True

    assert scene.snapshot() == {}


def test_a_schedule_is_removed_in_the_revision_that_the_caller_saw_and_in_no_other(
    scene: Scene,
) -> None:
    seen = due_slot(scene)
    edited = slots_of(scene).write("daily", b"theirs", 5, seen)
    assert edited is not None

    assert slots_of(scene).remove("daily", seen.revision) is False
    assert slots_of(scene).read("daily") == edited
    assert slots_of(scene).remove("daily", edited.revision) is True


def test_a_slot_that_was_fired_in_between_hinders_no_removal(scene: Scene) -> None:
    seen = due_slot(scene)
    scene.client.zadd(scene.keys.slots, {"daily": 5})

    assert slots_of(scene).remove("daily", seen.revision) is True


def test_what_is_not_there_cannot_be_removed(scene: Scene) -> None:
    assert slots_of(scene).remove("daily") is False
    assert slots_of(scene).remove("daily", "r") is False


@pytest.mark.parametrize("half", ["name", "record", "a string"])
def test_half_a_schedule_is_cleared(scene: Scene, half: str) -> None:
    if half == "name":
        scene.client.zadd(scene.keys.slots, {"daily": 5})
    elif half == "record":
        scene.client.hset(scene.key("slot:daily"), "template", "t")
    else:
        scene.client.set(scene.key("slot:daily"), "x")

    assert slots_of(scene).remove("daily") is True

    assert scene.snapshot() == {}


def test_no_name_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidInput, match="a schedule's name is text and not empty"):
        slots_of(scene).remove("")
