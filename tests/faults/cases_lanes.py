"""What each verb of lanes does when its reply is lost."""

from __future__ import annotations

from typing import Final

from echomq_app.protocol.errors import ConnectionLost
from echomq_app.protocol.states import Admission, Reassigned
from echomq_app.service.queue import new_label
from tests.faults.case import Case
from tests.faults.scene import AT_ONCE, LANE, LEASE, OTHER_LANE, Scene

LANE_CASES: Final[dict[str, Case]] = {
    "lane_enqueue": Case(
        arrange=Scene.new_job,
        act=lambda scene, job: scene.lossy_lanes.enqueue(LANE, *job),
        result=Admission.ADMITTED,
        resent=Admission.ADMITTED,
        raced=Admission.ADMITTED,
        runs=1,
    ),
    "schedule into a lane": Case(
        arrange=Scene.new_job,
        act=lambda scene, job: scene.lossy_lanes.schedule_in(LANE, job[0], job[1], AT_ONCE),
        result=Admission.ADMITTED,
        resent=Admission.ADMITTED,
        raced=Admission.ADMITTED,
        runs=1,
    ),
    "lane_claim": Case(
        arrange=Scene.waiting_in_lane,
        act=lambda scene, _: len(scene.lossy_lanes.claim(LEASE, 1, new_label())),
        result=1,
        resent=ConnectionLost,
        raced=ConnectionLost,
        runs=0,
    ),
    "lane_claim_weighted": Case(
        arrange=Scene.waiting_in_lane,
        act=lambda scene, _: len(scene.lossy_lanes.claim_weighted(LEASE, label=new_label())),
        result=1,
        resent=ConnectionLost,
        raced=ConnectionLost,
        runs=0,
    ),
    "lane_pause": Case(
        arrange=Scene.waiting_in_lane,
        act=lambda scene, _: scene.lossy_lanes.pause(LANE),
        result=True,
        resent=False,
        raced=False,
        runs=0,
    ),
    "lane_resume": Case(
        arrange=Scene.parked_lane,
        act=lambda scene, _: scene.lossy_lanes.resume(LANE),
        result=True,
        resent=False,
        raced=False,
        runs=1,
    ),
    "lane_limit": Case(
        arrange=Scene.waiting_in_lane,
        act=lambda scene, _: scene.lossy_lanes.limit(LANE, 1),
        result=None,
        resent=None,
        raced=None,
        runs=1,
    ),
    "lane_weight": Case(
        arrange=Scene.waiting_in_lane,
        act=lambda scene, _: scene.lossy_lanes.weight(LANE, 2),
        result=None,
        resent=None,
        raced=None,
        runs=1,
    ),
    "lane_reassign": Case(
        arrange=Scene.waiting_in_lane,
        act=lambda scene, job_id: scene.lossy_lanes.reassign(job_id, OTHER_LANE),
        result=Reassigned.MOVED,
        resent=Reassigned.MOVED,
        raced=Reassigned.NOT_FOUND,
        runs=1,
    ),
    "lane_drain": Case(
        arrange=Scene.waiting_in_lane,
        act=lambda scene, _: scene.lossy_lanes.drain(LANE),
        result=1,
        resent=0,
        raced=0,
        runs=0,
    ),
    "lane_reap": Case(
        arrange=Scene.lapsed_in_lane,
        act=lambda scene, _: scene.lossy_lanes.reap(LANE),
        result=1,
        resent=0,
        raced=0,
        runs=1,
    ),
}
