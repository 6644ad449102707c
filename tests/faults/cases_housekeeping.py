"""Lost replies of what is done to a whole queue, of repeats and of schedules."""

from __future__ import annotations

from typing import Any, Final

from echomq_app.protocol.errors import ConnectionLost
from echomq_app.protocol.replies import Slot
from echomq_app.protocol.states import SlotFiring
from echomq_app.service.queue import new_label
from echomq_app.service.repeats import Repeats
from echomq_app.service.slots import Slots
from tests.faults.case import MINUTE_MS, Case
from tests.faults.scene import AT_ONCE, LEASE, Scene, new_payload


def _paused(scene: Scene) -> None:
    scene.waiting()
    scene.direct.pause()


def _under_a_ceiling(scene: Scene) -> None:
    scene.waiting()
    scene.direct.set_rate(5)


def _consult(scene: Scene, _: object) -> object:
    return len(scene.lossy.rate_consult(LEASE, 1, new_label()))


def _dedup(scene: Scene, job_id: Any) -> object:
    return scene.lossy.dedup("once", job_id, LEASE) == job_id


def _repeats(scene: Scene) -> Repeats:
    return Repeats(scene.lossy.wire, scene.direct.name, minter=scene.minter)


def _register(scene: Scene, _: object) -> object:
    return _repeats(scene).register("report", LEASE, b"w", AT_ONCE)


def _due_repeat(scene: Scene) -> None:
    Repeats(scene.direct.wire, scene.direct.name).register("report", LEASE, b"w", AT_ONCE)


def _slots(scene: Scene) -> Slots:
    return Slots(scene.lossy.wire, scene.direct.name, minter=scene.minter)


def _due_slot(scene: Scene) -> Slot:
    slot = Slots(scene.direct.wire, scene.direct.name).write("daily", b"template", 1000)
    assert slot is not None
    return slot


def _fire(scene: Scene, slot: Any) -> object:
    now_ms = scene.server_ms()
    firing = _slots(scene).fire(
        slot, new_payload(), last_ms=now_ms - MINUTE_MS, next_ms=now_ms + MINUTE_MS
    )
    return firing.verdict


def _write(scene: Scene, _: object) -> object:
    return _slots(scene).write("daily", b"template", 1000) is not None


HOUSEKEEPING_CASES: Final[dict[str, Case]] = {
    "drain": Case(
        arrange=Scene.waiting,
        act=lambda scene, _: scene.lossy.drain(),
        result=1,
        resent=0,
        raced=0,
        runs=0,
    ),
    "obliterate": Case(
        arrange=_paused,
        act=lambda scene, _: scene.lossy.obliterate(),
        result=None,
        resent=None,
        raced=None,
        runs=0,
    ),
    "update_data": Case(
        arrange=Scene.waiting,
        act=lambda scene, job_id: scene.lossy.update_data(job_id, b"new"),
        result=True,
        resent=ConnectionLost,
        raced=ConnectionLost,
        runs=1,
    ),
    "dedup": Case(arrange=Scene.waiting, act=_dedup, result=True, resent=True, raced=True, runs=1),
    "rate": Case(
        arrange=_under_a_ceiling,
        act=lambda scene, _: scene.lossy.rate(),
        result=None,
        resent=None,
        raced=None,
        runs=1,
    ),
    "rate_consult": Case(
        arrange=_under_a_ceiling,
        act=_consult,
        result=1,
        resent=ConnectionLost,
        raced=ConnectionLost,
        runs=0,
    ),
    "repeat_register": Case(
        arrange=Scene.waiting, act=_register, result=True, resent=True, raced=True, runs=1
    ),
    "repeat_cancel": Case(
        arrange=_due_repeat,
        act=lambda scene, _: _repeats(scene).cancel("report"),
        result=True,
        resent=True,
        raced=True,
        runs=0,
    ),
    "repeat_fire": Case(
        arrange=_due_repeat,
        act=lambda scene, _: len(_repeats(scene).fire()),
        result=1,
        resent=0,
        raced=0,
        runs=1,
    ),
    "slot_write": Case(
        arrange=Scene.waiting, act=_write, result=True, resent=True, raced=True, runs=1
    ),
    "slot_remove": Case(
        arrange=_due_slot,
        act=lambda scene, slot: _slots(scene).remove("daily", slot.revision),
        result=True,
        resent=True,
        raced=True,
        runs=0,
    ),
    "slot_fire": Case(
        arrange=_due_slot,
        act=_fire,
        result=SlotFiring.FIRED,
        resent=SlotFiring.FIRED,
        raced=SlotFiring.FIRED,
        runs=1,
    ),
    "slots_due": Case(
        arrange=_due_slot,
        act=lambda scene, slot: _slots(scene).due().slots == [slot],
        result=True,
        resent=True,
        raced=True,
        runs=0,
    ),
}
