"""The machine of a queue, with an operator who empties, deletes, mends and limits it."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import rule

from echomq_app.protocol import payload
from echomq_app.protocol.errors import CeilingReached, ConnectionLost, Locked, WrongState
from tests.model.lossy import Fate
from tests.model.machine import QueueMachine
from tests.model.odds import crew, holding, picks, troubles
from tests.model.scene import LEASE, Trouble, known

losses = st.sampled_from(
    (Trouble(), Trouble(((Fate.LOST_REPLY, "finish"),)), Trouble(((Fate.LOST_REQUEST, "finish"),)))
)
"""No late packets: a payload that arrives late is given to whatever has the id by then."""


class KeptMachine(QueueMachine):
    @rule(scheduled=st.booleans(), receipt=st.booleans(), trouble=troubles)
    def drain(self, scheduled: bool, receipt: bool, trouble: Trouble) -> None:
        queue, keep = self.scene.producers[0], timedelta(minutes=2 if receipt else 0)
        outcome = self.scene.attempt(
            queue, trouble, lambda: queue.drain(scheduled=scheduled, receipt_for=keep)
        )
        assert isinstance(outcome, int | ConnectionLost), outcome

    @rule(force=st.booleans())
    def obliterate(self, force: bool) -> None:
        scene, queue = self.scene, self.scene.rival
        queue.pause()
        running = scene.truth.of("active")
        outcome = scene.attempt(queue, Trouble(), lambda: queue.obliterate(force=force))
        if isinstance(outcome, WrongState):
            assert running
            assert not force
            queue.resume()
            return
        orphans = scene.truth.logs | scene.truth.reports
        left = {key for key in scene.view().ttl if key[4:18] not in orphans}
        assert not left, f"the queue was obliterated, and {left} stayed"

    @rule(pick=picks, trouble=losses)
    def update_data(self, pick: int, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.producers[1]
        job_id = known(scene, pick)
        life = scene.truth.lives.get(job_id)
        if life is not None and not life.payload.startswith(b"{"):
            return
        meta = {"nonce": life.mark if life else "nobody's", "mended": scene.count()}
        raw = payload.encode(payload.TaskPayload(task="shop.mend", meta=meta))
        outcome = scene.attempt(queue, trouble, lambda: queue.update_data(job_id, raw))
        assert isinstance(outcome, bool | Locked | ConnectionLost), outcome

    @rule(most=st.sampled_from((1, 2, None)))
    def set_rate(self, most: int | None) -> None:
        self.scene.rival.set_rate(most)
        self.scene.truth.ceiling = most

    @holding("pending")
    @rule(worker=crew, size=st.integers(1, 3), trouble=troubles)
    def rate_consult(self, worker: int, size: int, trouble: Trouble) -> None:
        scene, queue = self.scene, self.scene.workers[worker]
        label = f"worker-{scene.count()}"
        outcome = scene.attempt(queue, trouble, lambda: queue.rate_consult(LEASE, size, label))
        if isinstance(outcome, list):
            scene.keep_handles(label, outcome)
        else:
            assert isinstance(outcome, CeilingReached | ConnectionLost), outcome

    @rule()
    def all_comes_to_an_end(self) -> None:
        self.set_rate(None)
        super().all_comes_to_an_end()
