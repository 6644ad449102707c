"""What the resend of an admission or of a claim meets when the queue went on without its caller."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import ConnectionLost, IdCollision
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.states import Admission, State
from tests.eventually import eventually
from tests.faults.scene import (
    AT_ONCE,
    Scene,
    new_payload,
    receipt_of,
)
from tests.servers.proxy import CuttingProxy
from tests.wire.links import Gap, runs


def test_an_enqueue_resent_after_its_job_is_done_is_not_admitted_again(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    job_id, raw = scene.new_job()
    gap.meanwhile = scene.hand.clear
    proxy.cut_before_reply(runs("enqueue"))

    assert scene.lossy.enqueue(job_id, raw) is Admission.ADMITTED
    scene.hand.clear()

    assert scene.hand.ran == {job_id: 1}
    assert scene.state(job_id) is State.DONE


def test_an_enqueue_resent_by_its_caller_while_the_receipt_lives_hears_duplicate(
    scene: Scene, proxy: CuttingProxy
) -> None:
    job_id, raw = scene.new_job()
    scene.lossy.wire.bus.patience_s = 0
    proxy.cut_before_reply(runs("enqueue"))
    with pytest.raises(ConnectionLost):
        scene.lossy.enqueue(job_id, raw)
    scene.hand.clear()

    assert scene.lossy.enqueue(job_id, raw) is Admission.DUPLICATE
    scene.hand.clear()

    assert scene.hand.ran == {job_id: 1}


def test_an_enqueue_whose_id_another_job_took_after_the_loss_is_a_collision(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    job_id, raw = scene.new_job()
    other = new_payload()
    gap.meanwhile = lambda: scene.direct.enqueue(job_id, other)
    proxy.cut_before_request(runs("enqueue"))

    with pytest.raises(IdCollision):
        scene.lossy.enqueue(job_id, raw)

    assert scene.client.hget(scene.keys.row(job_id), "payload") == other


def test_a_lost_enqueue_under_a_fresh_id_that_another_took_is_admitted_under_the_next(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    raw, other = new_payload(), new_payload()
    taken: list[JobId] = []

    def take_the_id() -> None:
        (sent,) = [words for words in proxy.commands if runs("enqueue")(words)]
        taken.append(JobId(sent[7].decode()))
        scene.direct.enqueue(taken[0], other)

    gap.meanwhile = take_the_id
    proxy.cut_before_request(runs("enqueue"))

    job_id = scene.lossy.enqueue_new(raw)

    assert [job_id] != taken
    assert scene.client.hget(scene.keys.row(job_id), "payload") == raw
    assert scene.client.hget(scene.keys.row(taken[0]), "payload") == other


def test_an_enqueue_many_resent_after_some_are_done_admits_none_again(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    jobs = scene.new_jobs(3)

    def finish_one() -> None:
        held = scene.hand.take()
        scene.direct.complete(held, receipt_of(held))
        scene.hand.ran[held.job_id] += 1

    gap.meanwhile = finish_one
    proxy.cut_before_reply(runs("enqueue_many"))

    assert scene.lossy.enqueue_many(jobs) == [Admission.ADMITTED] * 3
    scene.hand.clear()

    assert scene.hand.ran == {job_id: 1 for job_id, _ in jobs}


def test_a_schedule_resent_after_its_job_is_done_is_not_admitted_again(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    job_id, raw = scene.new_job()
    gap.meanwhile = scene.hand.clear
    proxy.cut_before_reply(runs("schedule"))

    assert scene.lossy.schedule_in(job_id, raw, AT_ONCE) is Admission.ADMITTED
    scene.hand.clear()

    assert scene.hand.ran == {job_id: 1}


@pytest.mark.parametrize("verb", ["claim", "claim_many", "beat"])
def test_a_claim_is_never_resent_and_its_job_comes_back_by_its_lease(
    verb: str, scene: Scene, proxy: CuttingProxy
) -> None:
    first, second = scene.waiting(), scene.waiting()
    brief = timedelta(milliseconds=50)
    claims: dict[str, Callable[[], object]] = {
        "claim": lambda: scene.lossy.claim(brief, "mine"),
        "claim_many": lambda: scene.lossy.claim_many(brief, 1, "mine"),
        "beat": lambda: scene.lossy.wire.run(
            calls.beat(scene.keys, batch=10, lease=50, size=1, label="mine")
        ),
    }
    proxy.cut_before_reply(runs(verb))

    with pytest.raises(ConnectionLost, match=rf"{verb} was sent .* not safe to send again"):
        claims[verb]()

    assert sum(map(runs(verb), proxy.commands)) == 1
    assert scene.holders(first) == [scene.keys.active]
    assert scene.holders(second) == [scene.keys.pending]
    eventually(lambda: scene.has_lapsed(first))
    back = scene.hand.take()
    assert (back.job_id, back.token, back.lapses) == (first, 2, 1)
