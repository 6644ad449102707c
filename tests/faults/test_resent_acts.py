"""What the resend of an operator's act meets, and what a pipeline does with a lost reply."""

from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import ConnectionLost
from echomq_app.protocol.states import Admission, Completion, Requeued, State
from echomq_app.service.queue import new_label
from tests.faults.scene import (
    AT_ONCE,
    RECEIPT_MS,
    Scene,
    new_payload,
    receipt_of,
)
from tests.foreign import seed_enqueue
from tests.servers.proxy import CuttingProxy
from tests.wire.links import Gap, runs

RECEIPT = timedelta(milliseconds=RECEIPT_MS)


def test_a_requeue_that_is_resent_hears_that_it_has_happened(
    scene: Scene, proxy: CuttingProxy
) -> None:
    job_id = scene.dead()
    proxy.cut_before_reply(runs("requeue"))

    assert scene.lossy.requeue(job_id) is Requeued.REQUEUED

    assert scene.holders(job_id) == [scene.keys.pending]


@pytest.mark.parametrize("verb", ["requeue", "requeue_many"])
def test_a_requeue_that_is_resent_does_not_requeue_a_job_that_died_again(
    verb: str, scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    job_id = scene.dead()

    def die_again() -> None:
        scene.direct.retry(scene.hand.take(), delay=AT_ONCE, max_attempts=1, error="again")

    gap.meanwhile = die_again
    proxy.cut_before_reply(runs(verb))
    if verb == "requeue":
        assert scene.lossy.requeue(job_id) is Requeued.REQUEUED
    else:
        assert scene.lossy.requeue_many([job_id]) == [Requeued.REQUEUED]

    assert scene.holders(job_id) == [scene.keys.dead]


def test_a_remove_that_is_resent_says_that_it_removed(scene: Scene, proxy: CuttingProxy) -> None:
    job_id = scene.waiting()
    proxy.cut_before_reply(runs("remove"))

    assert scene.lossy.remove(job_id)

    assert scene.state(job_id) is State.ABSENT


def test_a_remove_that_is_resent_leaves_the_next_life_of_its_id_alone(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    job_id = scene.waiting()
    gap.meanwhile = lambda: seed_enqueue(scene.client, scene.direct.name, job_id, new_payload())
    proxy.cut_before_reply(runs("remove"))

    assert scene.lossy.remove(job_id, receipt_for=RECEIPT)

    assert scene.state(job_id) is State.PENDING


def test_an_enqueue_resent_after_its_job_was_removed_does_not_bring_it_back(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    job_id, raw = scene.new_job()
    gap.meanwhile = lambda: scene.direct.remove(job_id, receipt_for=RECEIPT)
    proxy.cut_before_reply(runs("enqueue"))

    assert scene.lossy.enqueue(job_id, raw) is Admission.ADMITTED

    assert scene.holders(job_id) == []


def test_a_log_line_is_not_resent_and_stands_there_once(scene: Scene, proxy: CuttingProxy) -> None:
    job_id = scene.waiting()
    proxy.cut_before_reply(runs("add_log"))

    with pytest.raises(ConnectionLost, match="add_log was sent"):
        scene.lossy.add_log(job_id, "once")

    assert scene.direct.logs(job_id) == ["once"]


def test_the_settles_of_a_pipeline_are_resent_and_its_claim_is_not(
    scene: Scene, proxy: CuttingProxy
) -> None:
    held = [scene.held() for _ in range(3)]
    scene.waiting()
    pipeline = [
        calls.complete(scene.keys, one.job_id, one.token, one.label, receipt_of(one))
        for one in held
    ]
    claim = calls.claim_many(scene.keys, 60_000, 1, new_label())
    proxy.cut_before_reply(lambda words: words[-1] == held[1].job_id.encode())

    answers = scene.lossy.wire.answer([*pipeline, claim])

    assert [answer.resent for answer in answers] == [False, True, True, False]
    assert [answer.value for answer in answers[:3]] == [
        Completion.COMPLETED,
        Completion.GONE,
        Completion.GONE,
    ]
    assert isinstance(answers[3].error, ConnectionLost)
    assert sum(map(runs("claim_many"), proxy.commands)) == 1
    assert scene.direct.facts().counts.completed == 3
