"""Cases of repeats and of schedules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from echomq_app.protocol.replies import Slot
from tests.protocol.cases import case
from tests.protocol.cases_admission import ORDER
from tests.protocol.scene import Scene, new_id
from tests.protocol.schedules import MINUTE_MS, due_slot, minutes_around, slots_of


def registering(scene: Scene, name: str = "report", first_ms: int = 0) -> Call[Any]:
    return calls.repeat_register(
        scene.keys, name, every_ms=MINUTE_MS, template=b"w", first_ms=first_ms
    )


@case("repeat_register", "1")
def a_new_repeat(scene: Scene) -> Call[Any]:
    return registering(scene)


@case("repeat_register", "0")
def a_repeat_that_is_there(scene: Scene) -> Call[Any]:
    scene.run(registering(scene))
    return registering(scene)


@case("repeat_register", "ERR")
def a_repeat_without_an_interval(scene: Scene) -> Call[Any]:
    return replace(registering(scene), args=("report", "0", "w", "0"))


@case("repeat_cancel", "1")
def a_repeat_to_end(scene: Scene) -> Call[Any]:
    scene.run(registering(scene))
    return calls.repeat_cancel(scene.keys, "report")


@case("repeat_cancel", "0")
def no_repeat_to_end(scene: Scene) -> Call[Any]:
    return calls.repeat_cancel(scene.keys, "report")


@case("repeat_fire", "[[name, id]]")
def repeats_due_broken_and_later(scene: Scene) -> Call[Any]:
    scene.run(registering(scene))
    scene.run(registering(scene, "second"))
    scene.run(registering(scene, "later", MINUTE_MS))
    scene.client.zadd(scene.keys.repeat, {"broken": 1})
    return calls.repeat_fire(scene.keys, [new_id() for _ in range(5)])


@case("repeat_fire", "EMQKIND")
def a_repeat_under_another_kind(scene: Scene) -> Call[Any]:
    return calls.repeat_fire(scene.keys, [new_id(), ORDER])


def writing(scene: Scene, seen: Slot | None, revision: str = "r1") -> Call[Any]:
    return calls.slot_write(scene.keys, Slot("daily", 1, revision, b"template"), seen)


@case("slot_write", "1")
def a_new_schedule(scene: Scene) -> Call[Any]:
    return writing(scene, None)


@case("slot_write", "1")
def a_schedule_that_was_seen(scene: Scene) -> Call[Any]:
    return writing(scene, due_slot(scene))


@case("slot_write", "0")
def a_schedule_that_nobody_saw(scene: Scene) -> Call[Any]:
    due_slot(scene)
    return writing(scene, None)


@case("slot_write", "ERR")
def a_schedule_due_at_a_word(scene: Scene) -> Call[Any]:
    call = writing(scene, None)
    return replace(call, args=(*call.args[:3], "soon", "", ""))


@case("slot_remove", "1")
def a_schedule_to_end(scene: Scene) -> Call[Any]:
    return calls.slot_remove(scene.keys, "daily", due_slot(scene).revision)


@case("slot_remove", "0")
def a_schedule_of_another_revision(scene: Scene) -> Call[Any]:
    due_slot(scene)
    return calls.slot_remove(scene.keys, "daily", "another")


def firing(scene: Scene, slot: Slot, job_id: str | None = None, *, shift_ms: int = 0) -> Call[Any]:
    last_ms, next_ms = minutes_around(scene)
    return calls.slot_fire(
        scene.keys,
        slot,
        job_id=job_id or new_id(),
        payload=b"w",
        last_ms=last_ms + shift_ms,
        next_ms=next_ms + shift_ms,
        every_missed=False,
    )


@case("slot_fire", "1")
def a_slot_that_is_due(scene: Scene) -> Call[Any]:
    return firing(scene, due_slot(scene))


@case("slot_fire", "0")
def a_slot_under_a_known_id(scene: Scene) -> Call[Any]:
    return firing(scene, due_slot(scene), scene.enqueue())


@case("slot_fire", "-1")
def a_slot_that_has_moved(scene: Scene) -> Call[Any]:
    slot = due_slot(scene)
    slots_of(scene).remove("daily")
    return firing(scene, slot)


@case("slot_fire", "-2")
def a_slot_that_is_not_due(scene: Scene) -> Call[Any]:
    return firing(scene, due_slot(scene, ago_ms=-MINUTE_MS))


@case("slot_fire", "-3")
def a_slot_beside_the_server_s_clock(scene: Scene) -> Call[Any]:
    return firing(scene, due_slot(scene), shift_ms=MINUTE_MS)


@case("slot_fire", "EMQKIND")
def a_slot_under_another_kind(scene: Scene) -> Call[Any]:
    return firing(scene, due_slot(scene), ORDER)


@case("slot_fire", "ERR")
def a_slot_that_leads_nowhere(scene: Scene) -> Call[Any]:
    call = firing(scene, due_slot(scene))
    return replace(call, args=(*call.args[:4], "1", "1", *call.args[6:]))


@case("slots_due", "[now, next_ms, slots]")
def slots_of_every_sort(scene: Scene) -> Call[Any]:
    due_slot(scene)
    due_slot(scene, "later", ago_ms=-MINUTE_MS)
    scene.client.zadd(scene.keys.slots, {"broken": 1})
    return calls.slots_due(scene.keys, 10)


@case("slots_due", "ERR")
def slots_by_none(scene: Scene) -> Call[Any]:
    return replace(calls.slots_due(scene.keys, 10), args=("0",))
