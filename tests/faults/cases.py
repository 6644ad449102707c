"""What each verb does when its reply is lost: a case for every script there is."""

from __future__ import annotations

from typing import Any, Final

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import ConnectionLost, Stale
from echomq_app.protocol.replies import OtherClaim
from echomq_app.protocol.states import Admission, Completion, JobSet, Requeued, Retried, State
from echomq_app.service.queue import new_label
from echomq_app.service.records import PageRequest
from echomq_app.service.stale import StaleOutcomes
from tests.faults.case import MINUTE_MS, Act, Case
from tests.faults.cases_flows import FLOW_CASES
from tests.faults.cases_housekeeping import HOUSEKEEPING_CASES
from tests.faults.cases_lanes import LANE_CASES
from tests.faults.scene import AT_ONCE, LEASE, Scene, outcome_of, receipt_of


def _claim(scene: Scene, _: object) -> object:
    return scene.lossy.claim(LEASE, new_label()) is not None


def _claim_many(scene: Scene, _: object) -> object:
    return len(scene.lossy.claim_many(LEASE, 1, new_label()))


def _note_stale(scene: Scene, job_id: Any) -> object:
    noted = StaleOutcomes(scene.lossy.wire, scene.direct.name)
    return noted.note(job_id, 1, "one", reason="token", ran=LEASE)


def _beat(size: int) -> Act:
    def act(scene: Scene, _: object) -> object:
        call = calls.beat(scene.keys, batch=100, lease=MINUTE_MS, size=size, label=new_label())
        beat = scene.lossy.wire.run(call)
        return beat.reaped, beat.promoted, len(beat.jobs)

    return act


def _retry(max_attempts: int) -> Act:
    return lambda scene, held: scene.lossy.retry(
        held, delay=AT_ONCE, max_attempts=max_attempts, error="boom"
    )


def _extend_one(scene: Scene, held: Any) -> object:
    call = calls.extend(scene.keys, held.job_id, held.token, MINUTE_MS, held.label)
    return scene.lossy.wire.run(call)


def _page(scene: Scene, _: object) -> object:
    return [job.job_id for job in scene.lossy.page(PageRequest(which=JobSet.PENDING)).jobs] == list(
        scene.payloads
    )


def _paused(scene: Scene) -> None:
    scene.waiting()
    scene.direct.pause()


def _counts(scene: Scene, _: object) -> object:
    counts = scene.lossy.facts().counts
    return counts.pending + counts.active + counts.schedule + counts.dead


CASES: Final[dict[str, Case]] = {
    "enqueue": Case(
        arrange=Scene.new_job,
        act=lambda scene, job: scene.lossy.enqueue(*job),
        result=Admission.ADMITTED,
        resent=Admission.ADMITTED,
        raced=Admission.ADMITTED,
        runs=1,
    ),
    "enqueue_many": Case(
        arrange=lambda scene: scene.new_jobs(3),
        act=lambda scene, jobs: scene.lossy.enqueue_many(jobs),
        result=[Admission.ADMITTED] * 3,
        resent=[Admission.ADMITTED] * 3,
        raced=[Admission.ADMITTED] * 3,
        runs=1,
    ),
    "schedule": Case(
        arrange=Scene.new_job,
        act=lambda scene, job: scene.lossy.schedule_in(job[0], job[1], AT_ONCE),
        result=Admission.ADMITTED,
        resent=Admission.ADMITTED,
        raced=Admission.ADMITTED,
        runs=1,
    ),
    "claim": Case(
        arrange=Scene.waiting,
        act=_claim,
        result=True,
        resent=ConnectionLost,
        raced=ConnectionLost,
        runs=0,
    ),
    "claim_many": Case(
        arrange=Scene.waiting,
        act=_claim_many,
        result=1,
        resent=ConnectionLost,
        raced=ConnectionLost,
        runs=0,
    ),
    "beat": Case(
        arrange=Scene.waiting,
        act=_beat(1),
        result=(0, 0, 1),
        resent=ConnectionLost,
        raced=ConnectionLost,
        runs=0,
    ),
    "beat of a reaper": Case(
        arrange=Scene.due,
        act=_beat(0),
        result=(0, 1, 0),
        resent=(0, 0, 0),
        raced=(0, 0, 0),
        runs=1,
    ),
    "complete": Case(
        arrange=Scene.held,
        act=lambda scene, held: scene.lossy.complete(held, receipt_of(held)),
        result=Completion.COMPLETED,
        resent=Completion.COMPLETED,
        raced=Completion.COMPLETED,
        runs=0,
    ),
    "complete_keep": Case(
        arrange=Scene.held,
        act=lambda scene, held: scene.lossy.complete(held, outcome_of(held)),
        result=Completion.COMPLETED,
        resent=Completion.COMPLETED,
        raced=Completion.COMPLETED,
        runs=0,
    ),
    "retry": Case(
        arrange=Scene.held,
        act=_retry(3),
        result=Retried.SCHEDULED,
        resent=Retried.SCHEDULED,
        raced=Stale,
        runs=1,
    ),
    "retry for the last time": Case(
        arrange=Scene.held,
        act=_retry(1),
        result=Retried.DEAD,
        resent=Retried.DEAD,
        raced=Retried.DEAD,
        runs=0,
    ),
    "release": Case(
        arrange=Scene.held,
        act=lambda scene, held: scene.lossy.release(held),
        result=None,
        resent=None,
        raced=Stale,
        runs=1,
    ),
    "delay": Case(
        arrange=Scene.held,
        act=lambda scene, held: scene.lossy.delay(held, AT_ONCE),
        result=None,
        resent=None,
        raced=Stale,
        runs=1,
    ),
    "promote": Case(
        arrange=Scene.due,
        act=lambda scene, _: scene.lossy.promote(),
        result=1,
        resent=0,
        raced=0,
        runs=1,
    ),
    "reap": Case(
        arrange=Scene.lapsed,
        act=lambda scene, _: scene.lossy.reap(),
        result=1,
        resent=0,
        raced=0,
        runs=1,
    ),
    "trim": Case(
        arrange=Scene.expired_receipt,
        act=lambda scene, _: scene.lossy.trim(),
        result=1,
        resent=0,
        raced=0,
        runs=0,
    ),
    "extend": Case(
        arrange=Scene.held,
        act=_extend_one,
        result=True,
        resent=True,
        raced=True,
        runs=0,
        moves_deadlines=True,
    ),
    "extend_many": Case(
        arrange=Scene.held,
        act=lambda scene, held: scene.lossy.extend([held], LEASE),
        result=[],
        resent=[],
        raced=[],
        runs=0,
        moves_deadlines=True,
    ),
    "requeue": Case(
        arrange=Scene.dead,
        act=lambda scene, job_id: scene.lossy.requeue(job_id),
        result=Requeued.REQUEUED,
        resent=Requeued.REQUEUED,
        raced=Requeued.GONE,
        runs=1,
    ),
    "requeue_many": Case(
        arrange=lambda scene: [scene.dead(), scene.dead()],
        act=lambda scene, job_ids: scene.lossy.requeue_many(job_ids),
        result=[Requeued.REQUEUED] * 2,
        resent=[Requeued.REQUEUED] * 2,
        raced=[Requeued.GONE] * 2,
        runs=1,
    ),
    "remove": Case(
        arrange=Scene.waiting,
        act=lambda scene, job_id: scene.lossy.remove(job_id, label=new_label()),
        result=True,
        resent=True,
        raced=True,
        runs=0,
    ),
    "pause": Case(
        arrange=Scene.waiting,
        act=lambda scene, _: scene.lossy.pause(),
        result=True,
        resent=False,
        raced=False,
        runs=0,
    ),
    "resume": Case(
        arrange=_paused,
        act=lambda scene, _: scene.lossy.resume(),
        result=True,
        resent=False,
        raced=False,
        runs=1,
    ),
    "progress": Case(
        arrange=Scene.waiting,
        act=lambda scene, job_id: scene.lossy.progress(job_id, "half"),
        result=True,
        resent=True,
        raced=False,
        runs=1,
    ),
    "add_log": Case(
        arrange=Scene.waiting,
        act=lambda scene, job_id: scene.lossy.add_log(job_id, "line"),
        result=1,
        resent=ConnectionLost,
        raced=ConnectionLost,
        runs=1,
    ),
    "note_stale": Case(
        arrange=Scene.waiting,
        act=_note_stale,
        result=OtherClaim(None, "", None),
        resent=ConnectionLost,
        raced=ConnectionLost,
        runs=1,
    ),
    "state": Case(
        arrange=Scene.waiting,
        act=lambda scene, job_id: scene.lossy.state(job_id),
        result=State.PENDING,
        resent=State.PENDING,
        raced=State.DONE,
        runs=1,
    ),
    "counts": Case(arrange=Scene.waiting, act=_counts, result=1, resent=1, raced=0, runs=1),
    "read_rows": Case(
        arrange=Scene.waiting, act=_page, result=True, resent=True, raced=True, runs=1
    ),
    **LANE_CASES,
    **HOUSEKEEPING_CASES,
    **FLOW_CASES,
}


def script_of(name: str) -> str:
    """The script that a case is about: the first word of its name."""
    return name.partition(" ")[0]


def came_to(case: Case, scene: Scene, arranged: object, expected: object) -> object:
    """What the verb came to, in the terms of ``expected``."""
    if not isinstance(expected, type):
        return case.act(scene, arranged)
    with pytest.raises(expected) as raised:
        case.act(scene, arranged)
    return type(raised.value)
