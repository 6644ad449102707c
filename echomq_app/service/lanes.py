"""The verbs of a queue's lanes, blocking: who fills them, who claims from them, who steers them.

What a claim handed out is settled by the queue's own verbs, which keep the books of its lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from echomq_app.protocol import calls
from echomq_app.protocol.ids import JobId, Minter, valid_job_id
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Admission, Reassigned
from echomq_app.service import plans
from echomq_app.service.housekeeping import DRAIN_BATCH
from echomq_app.service.queue import SWEEP_BATCH, instant_ms, new_label, whole_ms
from echomq_app.service.records import Lease, lease
from echomq_app.wire.link import Wire, unwrap_all


class Lanes:
    """The lanes of one queue over a wire. Holds no state of its own; share it between threads.

    A lane is named by a branded id of any namespace; anything else raises ``InvalidLane``.
    """

    def __init__(self, wire: Wire, queue: str, *, minter: Minter | None = None) -> None:
        self.keys = QueueKeys(queue)
        self.queue = queue
        self.wire = wire
        self._minter = minter or Minter()

    def enqueue(self, lane: str, job_id: str, payload: bytes) -> Admission:
        """Admit a job to a lane; say whether it is new. Repeats and errors as ``Queue.enqueue``.

        A duplicate stays where it is, in whichever lane.
        """
        call = calls.lane_enqueue(self.keys, lane, job_id, payload)
        return self.wire.follow(plans.admit(self.keys, job_id, payload, call))

    def enqueue_new(self, lane: str, payload: bytes) -> JobId:
        """Mint an id and admit the job under it; a collision with another's id mints again."""
        plan = plans.admit_new(
            self.keys,
            self._minter,
            payload,
            lambda job_id: calls.lane_enqueue(self.keys, lane, job_id, payload),
        )
        return self.wire.follow(plan)

    def schedule_at(self, lane: str, job_id: str, payload: bytes, at: datetime) -> Admission:
        """Admit a job that joins the lane at ``at``. Repeats and errors as ``enqueue``."""
        call = calls.schedule_at(self.keys, job_id, payload, instant_ms(at), lane)
        return self.wire.follow(plans.admit(self.keys, job_id, payload, call))

    def schedule_in(self, lane: str, job_id: str, payload: bytes, delay: timedelta) -> Admission:
        """Admit a job that joins the lane after ``delay``. Repeats and errors as ``enqueue``."""
        call = calls.schedule_in(self.keys, job_id, payload, whole_ms(delay), lane)
        return self.wire.follow(plans.admit(self.keys, job_id, payload, call))

    def claim(self, lease_for: timedelta, size: int = 1, label: str = "") -> list[Lease]:
        """Lease up to ``size`` of the oldest jobs of the lane whose turn it is; empty when none is.

        Never repeated: ``ConnectionLost`` may leave jobs leased to nobody until the leases lapse.
        """
        call = calls.lane_claim(self.keys, whole_ms(lease_for), size, label)
        return [lease(self.queue, claimed, label) for claimed in self.wire.run(call)]

    def claim_weighted(
        self, lease_for: timedelta, size: int = calls.MAX_CLAIMS, label: str = ""
    ) -> list[Lease]:
        """Lease as many jobs as the lane whose turn it is weighs, ``size`` at most. Never repeated.

        A ``size`` below the largest weight cuts the shares of heavy lanes.
        """
        call = calls.lane_claim_weighted(self.keys, whole_ms(lease_for), size, label)
        return [lease(self.queue, claimed, label) for claimed in self.wire.run(call)]

    def pause(self, lane: str) -> bool:
        """Park a lane with what waits in it; whether that changed anything."""
        return self.wire.run(calls.lane_pause(self.keys, lane))

    def resume(self, lane: str) -> bool:
        """Put a parked lane back in rotation; whether that changed anything."""
        return self.wire.run(calls.lane_resume(self.keys, lane))

    def limit(self, lane: str, most: int | None) -> None:
        """At most ``most`` jobs of the lane run at a time; ``None`` lifts the ceiling.

        Safe to repeat. What runs already goes on.
        """
        self.wire.run(calls.lane_limit(self.keys, lane, most))

    def weight(self, lane: str, weight: int | None) -> None:
        """A turn of the lane gives ``weight`` jobs to ``claim_weighted``; ``None``: one again.

        Safe to repeat.
        """
        self.wire.run(calls.lane_weight(self.keys, lane, weight))

    def reassign(self, job_id: str, lane: str) -> Reassigned:
        """Move a job that waits in one lane to another. Safe to repeat."""
        return self.wire.follow(plans.lane_reassign(self.keys, valid_job_id(job_id), lane))

    def drain(
        self, lane: str, *, receipt_for: timedelta = timedelta(), most: int = 1_000_000
    ) -> int:
        """End the jobs that wait in a lane, in bounded steps; how many left it.

        What runs goes on. Parents in a flow hear of a death. Safe to repeat; after a lost reply the
        number lacks what that step ended.
        """
        step = calls.lane_drain(
            self.keys, lane, DRAIN_BATCH, label=new_label(), receipt_ms=whole_ms(receipt_for)
        )
        return self.wire.follow(plans.every(lambda: step, DRAIN_BATCH, most))

    def reap(self, lane: str, most: int = 10_000) -> int:
        """Give back what lapsed leases of this lane held, in bounded steps; how many came back."""
        return self.wire.follow(plans.lane_reap(self.keys, lane, SWEEP_BATCH, most))

    def depth(self, lane: str) -> int:
        """How many jobs wait in a lane."""
        return self.wire.run(calls.lane_depth(self.keys, lane))

    def depths(self, lanes: Sequence[str]) -> dict[str, int]:
        """How many jobs wait in each of some lanes, in one round trip."""
        answers = self.wire.answer([calls.lane_depth(self.keys, lane) for lane in lanes])
        return dict(zip(lanes, unwrap_all(answers), strict=True))

    def known(self) -> list[str]:
        """The lanes that have waiting or running jobs, sorted.

        A lane that another program has just filled is known after the next beat of a worker.
        """
        return self.wire.run(calls.known_lanes(self.keys))
