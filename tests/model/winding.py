"""The end of every story: all jobs end, time passes, and nothing is left to keep."""

from __future__ import annotations

from echomq_app.protocol import calls
from tests.model.scene import HOUR_MS, LANES, Scene


def wind_up(scene: Scene) -> None:
    """End every life that can end, let all that is kept expire, and clear what others left."""
    truth, queue = scene.truth, scene.rival
    queue.resume()
    _let_lanes_run(scene)
    while truth.at("pending") or truth.at("active") or truth.at("schedule"):
        scene.come_due(truth.of("schedule"))
        scene.lapse(truth.of("active"))
        queue.promote()
        queue.reap()
        for held in scene.rival_claims(1000):
            queue.complete(held, scene.retention(held, "outcome"))
        while truth.servable():
            scene.finish_in_lane()
    for job_id in sorted({*truth.lives, *truth.ghosts}):
        queue.remove(job_id, force=True)
    scene.expire(list(truth.retained.kept))
    queue.trim()
    scene.let_subkeys_expire()
    call = calls.beat(scene.keys, batch=100, lease=HOUR_MS, size=1, label="the last beat")
    queue.wire.run(call)


def _let_lanes_run(scene: Scene) -> None:
    lanes = scene.lanes_of(scene.rival)
    for lane in LANES:
        lanes.resume(lane)
        lanes.limit(lane, None)
        lanes.weight(lane, None)
