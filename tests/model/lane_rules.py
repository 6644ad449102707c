"""The rules of the machine that are about lanes: ours, and other programs' on the same lanes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from echomq_app.protocol.errors import ConnectionLost, EchoMQError
from echomq_app.protocol.states import Admission, Reassigned
from tests.model.odds import crew, holding, picks, sides, troubles
from tests.model.scene import LANES, LEASE, Scene, Trouble, known

lanes_of_the_scene = st.sampled_from(LANES)
holding_lanes = holding(*(f"g:{lane}:pending" for lane in LANES))


class LaneRules(RuleBasedStateMachine):
    scene: Scene

    @rule(
        side=sides,
        pick=picks,
        again=st.booleans(),
        lane=lanes_of_the_scene,
        way=st.sampled_from(("now", "now", "in nothing", "in an hour")),
        trouble=troubles,
    )
    def lane_enqueue(
        self, side: int, pick: int, again: bool, lane: str, way: str, trouble: Trouble
    ) -> None:
        scene, queue = self.scene, self.scene.producers[side]
        job_id, lanes = scene.free(pick), scene.lanes_of(queue)
        if job_id is None:
            return
        raw = scene.intent(job_id, again=again)
        scene.subject = job_id
        ways: dict[str, Callable[[], Admission]] = {
            "now": lambda: lanes.enqueue(lane, job_id, raw),
            "in nothing": lambda: lanes.schedule_in(lane, job_id, raw, timedelta()),
            "in an hour": lambda: lanes.schedule_in(lane, job_id, raw, timedelta(hours=1)),
        }
        scene.check_admission(job_id, raw, scene.attempt(queue, trouble, ways[way]))

    @rule(pick=picks, lane=lanes_of_the_scene)
    def foreign_lane_enqueue(self, pick: int, lane: str) -> None:
        job_id = self.scene.free(pick)
        if job_id is not None:
            self.scene.foreign_lane_enqueue(job_id, lane)

    @holding_lanes
    @rule(worker=crew, size=st.integers(1, 3), weighted=st.booleans(), trouble=troubles)
    def lane_claim(self, worker: int, size: int, weighted: bool, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.workers[worker]
        label, lanes = f"worker-{scene.count()}", scene.lanes_of(queue)
        claim = lanes.claim_weighted if weighted else lanes.claim
        outcome = scene.attempt(queue, trouble, lambda: claim(LEASE, size, label))
        if not isinstance(outcome, EchoMQError):
            scene.keep_handles(label, outcome)

    @holding_lanes
    @rule()
    def foreign_lane_claim(self) -> None:
        self.scene.foreign_lane_claim()

    @rule(lane=lanes_of_the_scene, pause=st.booleans(), trouble=troubles)
    def lane_switch(self, lane: str, pause: bool, trouble: Trouble) -> None:
        queue = self.scene.producers[0]
        lanes = self.scene.lanes_of(queue)
        verb = lanes.pause if pause else lanes.resume
        outcome = self.scene.attempt(queue, trouble, lambda: verb(lane))
        assert isinstance(outcome, bool | ConnectionLost), outcome

    @rule(
        lane=lanes_of_the_scene,
        most=st.sampled_from((None, 1, 2)),
        weight=st.sampled_from((None, 2, 3)),
        trouble=troubles,
    )
    def lane_limit_and_weight(
        self, lane: str, most: int | None, weight: int | None, trouble: Trouble
    ) -> None:
        queue = self.scene.producers[0]
        lanes = self.scene.lanes_of(queue)
        outcome = self.scene.attempt(queue, trouble, lambda: lanes.limit(lane, most))
        assert outcome is None or isinstance(outcome, ConnectionLost), outcome
        lanes.weight(lane, weight)

    @rule(lane=lanes_of_the_scene, most=st.integers(1, 2), act=st.integers(0, 2))
    def foreign_lane_steering(self, lane: str, most: int, act: int) -> None:
        self.scene.foreign_lane_steer(lane, most, act)

    @holding_lanes
    @rule(pick=picks, lane=lanes_of_the_scene, trouble=troubles)
    def lane_reassign(self, pick: int, lane: str, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.producers[1]
        scene.subject = job_id = known(scene, pick)
        verb = scene.lanes_of(queue).reassign
        outcome = scene.attempt(queue, trouble, lambda: verb(job_id, lane))
        assert isinstance(outcome, Reassigned | ConnectionLost), outcome

    @holding_lanes
    @rule(lane=lanes_of_the_scene, receipt=st.booleans(), trouble=troubles)
    def lane_drain(self, lane: str, receipt: bool, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.producers[0]
        lanes, keep = scene.lanes_of(queue), timedelta(minutes=2 if receipt else 0)
        outcome = scene.attempt(queue, trouble, lambda: lanes.drain(lane, receipt_for=keep))
        assert isinstance(outcome, int | ConnectionLost), outcome

    @precondition(lambda self: any(life.over for life in self.scene.truth.at("active")))
    @rule(worker=crew, lane=lanes_of_the_scene, trouble=troubles)
    def lane_reap(self, worker: int, lane: str, trouble: Trouble) -> None:
        queue = self.scene.workers[worker]
        lanes = self.scene.lanes_of(queue)
        outcome = self.scene.attempt(queue, trouble, lambda: lanes.reap(lane))
        assert isinstance(outcome, int | ConnectionLost), outcome
