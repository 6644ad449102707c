"""Schedules of ours and repeats of the reference's, as tests set them up."""

from __future__ import annotations

from echomq_app.protocol.replies import Slot
from echomq_app.service.repeats import Repeats
from echomq_app.service.slots import Slots
from tests.protocol.scene import Scene

MINUTE_MS = 60_000


def slots_of(scene: Scene) -> Slots:
    return Slots(scene.wire, scene.name)


def repeats_of(scene: Scene) -> Repeats:
    return Repeats(scene.wire, scene.name)


def due_slot(scene: Scene, name: str = "daily", *, ago_ms: int = 1000) -> Slot:
    """A schedule whose slot was due ``ago_ms`` ago, as a scheduler sees it."""
    slot = slots_of(scene).write(name, b"template", scene.server_ms() - ago_ms)
    assert slot is not None
    return slot


def minutes_around(scene: Scene) -> tuple[int, int]:
    """A slot a second ago and the one a minute after it."""
    last_ms = scene.server_ms() - 1000
    return last_ms, last_ms + MINUTE_MS


def repeat_is_due(scene: Scene, name: str) -> None:
    """Let a repeat's time come: it was due long ago."""
    scene.client.zadd(scene.keys.repeat, {name: 1}, xx=True)
