"""What each verb of repeats and of schedules costs: how often a client sends and then waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from echomq_app.protocol.replies import Slot
from echomq_app.service.queue import Queue
from echomq_app.service.repeats import Repeats
from echomq_app.service.slots import Slots
from tests.protocol.scene import LONG, Scene
from tests.protocol.schedules import due_slot, repeats_of
from tests.servers.proxy import CuttingProxy

Act = Callable[[], Any]
NOW = timedelta()


def due_repeat(scene: Scene) -> bool:
    return repeats_of(scene).register("report", LONG, b"w", NOW)


def firing(slots: Slots, slot: Slot) -> Act:
    return lambda: slots.fire(slot, b"w", last_ms=1, next_ms=2**50)


REPEATS: dict[str, Callable[[Scene, Repeats], Act]] = {
    "register": lambda scene, repeats: lambda: repeats.register("report", LONG, b"w", NOW),
    "cancel": lambda scene, repeats: lambda: repeats.cancel("report"),
    "fire": lambda scene, repeats: (due_repeat(scene), repeats.fire)[1],
    "count": lambda scene, repeats: repeats.count,
}
SLOTS: dict[str, Callable[[Scene, Slots], Act]] = {
    "write": lambda scene, slots: lambda: slots.write("daily", b"t", 1),
    "read": lambda scene, slots: lambda: slots.read("daily"),
    "due": lambda scene, slots: (due_slot(scene), slots.due)[1],
    "fire": lambda scene, slots: firing(slots, due_slot(scene)),
    "remove": lambda scene, slots: lambda: slots.remove("daily"),
    "count": lambda scene, slots: slots.count,
}


@pytest.mark.parametrize("verb", REPEATS)
def test_a_verb_of_repeats_is_one_round_trip(
    beside: Scene, queue: Queue, proxy: CuttingProxy, verb: str
) -> None:
    act = REPEATS[verb](beside, Repeats(queue.wire, queue.name))
    proxy.reset()

    act()

    assert proxy.round_trips == 1


@pytest.mark.parametrize("verb", SLOTS)
def test_a_verb_of_schedules_is_one_round_trip(
    beside: Scene, queue: Queue, proxy: CuttingProxy, verb: str
) -> None:
    act = SLOTS[verb](beside, Slots(queue.wire, queue.name))
    proxy.reset()

    act()

    assert proxy.round_trips == 1


@pytest.mark.parametrize(("service", "costs"), [(Repeats, REPEATS), (Slots, SLOTS)])
def test_every_method_of_both_has_its_cost_pinned(service: type, costs: dict[str, object]) -> None:
    assert {name for name in vars(service) if not name.startswith("_")} == set(costs)
