"""The books of a lane, as one value to compare."""

from __future__ import annotations

from dataclasses import dataclass

from echomq_app.protocol import calls
from echomq_app.protocol.ids import JobId
from echomq_app.service.records import Lease
from tests.foreign.lanes import LaneClaim, LaneKeys, lane_claim, lane_enqueue
from tests.protocol.scene import LONG, Scene, new_id

GROUP = "PRT0JZGkPbGj4a"
OTHER = "PRT0JZGkPbYKCe"


@dataclass(frozen=True)
class Books:
    """``waiting`` in order, how many run, and whether the lane is in the ring."""

    waiting: tuple[str, ...]
    running: int
    ringed: bool


def books(scene: Scene, group: str = GROUP) -> Books:
    """What the queue says of a lane; a count that is kept at zero is a fault."""
    lanes = LaneKeys(scene.name)
    running = scene.client.hget(lanes.gactive, group)
    assert running != b"0"
    ring = [member.decode() for member in scene.client.lrange(lanes.ring, 0, -1)]
    assert ring.count(group) <= 1
    waiting = tuple(scene.members(f"g:{group}:pending"))
    return Books(waiting, int(running or 0), group in ring)


def waits(scene: Scene, group: str = GROUP, count: int = 1) -> list[JobId]:
    """Jobs of ours that wait in a lane, oldest first."""
    jobs = [new_id() for _ in range(count)]
    for job_id in jobs:
        scene.lanes.enqueue(group, job_id, b"w")
    return jobs


def turn(scene: Scene, size: int = 1, label: str = "") -> list[Lease]:
    """What our claim of the next lane gives, held for ten minutes."""
    return scene.lanes.claim(LONG, size, label)


def known(scene: Scene) -> set[str]:
    """The lanes that the queue knows to have work."""
    return set(scene.lanes.known())


def laned(scene: Scene, group: str = GROUP) -> str:
    """A job that waits in a lane."""
    job_id = new_id()
    lane_enqueue(scene.client, scene.name, group, job_id, "w")
    return job_id


def held_in_lane(scene: Scene, group: str = GROUP) -> LaneClaim:
    """A new job of a lane, held by a claimer of lanes; nothing else may wait in lanes."""
    laned(scene, group)
    held = lane_claim(scene.client, scene.name)
    assert held is not None
    assert held.group == group
    return held


def buried_in_lane(scene: Scene, group: str = GROUP) -> str:
    """A job of a lane that had its only attempt."""
    held = held_in_lane(scene, group)
    scene.run(
        calls.retry(scene.keys, held.job_id, held.token, delay_ms=0, max_attempts=1, error="boom")
    )
    return held.job_id
