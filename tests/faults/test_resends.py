"""What a resend meets when the queue went on without its caller, case by case."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import ConnectionLost, IdCollision, Stale
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.states import Admission, Completion, Requeued, Retried, State
from echomq_app.service.queue import new_label
from echomq_app.service.records import Lease
from tests.eventually import eventually
from tests.faults.scene import (
    AT_ONCE,
    LEASE,
    RECEIPT_MS,
    Scene,
    new_payload,
    outcome_of,
    receipt_of,
)
from tests.foreign import seed_claim, seed_enqueue
from tests.servers.proxy import CuttingProxy
from tests.wire.links import Gap, runs

RECEIPT = timedelta(milliseconds=RECEIPT_MS)


def next_life(scene: Scene, job_id: JobId) -> Lease:
    """The same id, admitted by a program that knows no receipts, and held by another worker."""
    seed_enqueue(scene.client, scene.direct.name, job_id, new_payload())
    return scene.hand.take()


def still_holds(scene: Scene, held: Lease) -> bool:
    """Whether a holder's claim is whole: it can still renew, and ends the job itself."""
    return not scene.direct.extend([held], LEASE) and (
        scene.direct.complete(held) is Completion.COMPLETED
    )


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


def test_a_complete_that_is_resent_reads_its_own_end_from_the_receipt(
    scene: Scene, proxy: CuttingProxy
) -> None:
    held = scene.held()
    proxy.cut_before_reply(runs("complete"))

    assert scene.lossy.complete(held, receipt_of(held)) is Completion.COMPLETED


def test_a_complete_that_is_resent_reads_another_holders_end_from_the_receipt(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    held = scene.lapsed()
    gap.meanwhile = scene.hand.clear
    proxy.cut_before_request(runs("complete"))

    assert scene.lossy.complete(held, receipt_of(held)) is Completion.GONE

    assert scene.hand.ran == {held.job_id: 1}


def test_a_complete_keep_that_is_resent_keeps_one_outcome(
    scene: Scene, proxy: CuttingProxy
) -> None:
    held = scene.held()
    proxy.cut_before_reply(runs("complete_keep"))

    assert scene.lossy.complete(held, outcome_of(held)) is Completion.COMPLETED

    kept = scene.direct.job(held.job_id).receipt
    assert kept is not None
    assert (kept.token, kept.label, kept.outcome) == (held.token, held.label, b'{"value":1}')
    assert scene.direct.facts().counts.done == 1


def test_a_complete_that_is_resent_leaves_the_next_life_of_its_id_alone(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    held = scene.held()
    lives: list[Lease] = []
    gap.meanwhile = lambda: lives.append(next_life(scene, held.job_id))
    proxy.cut_before_reply(runs("complete"))

    with pytest.raises(Stale, match="label"):
        scene.lossy.complete(held, receipt_of(held))

    assert lives[0].token == held.token
    assert still_holds(scene, lives[0])


@pytest.mark.parametrize("verb", ["complete", "retry", "release", "delay", "extend"])
def test_an_old_token_cannot_settle_the_next_life_of_its_id(verb: str, scene: Scene) -> None:
    held = scene.held()
    scene.direct.complete(held, receipt_of(held))
    life = next_life(scene, held.job_id)
    assert life.token == held.token
    settle: dict[str, Callable[[], object]] = {
        "complete": lambda: scene.lossy.complete(held),
        "retry": lambda: scene.lossy.retry(held, delay=AT_ONCE, max_attempts=1, error="old"),
        "release": lambda: scene.lossy.release(held),
        "delay": lambda: scene.lossy.delay(held, AT_ONCE),
        "extend": lambda: scene.lossy.wire.run(
            calls.extend(scene.keys, held.job_id, held.token, 1, held.label)
        ),
    }

    with pytest.raises(Stale) as refused:
        settle[verb]()

    assert refused.value.reason == "label"
    assert still_holds(scene, life)


def test_an_old_token_without_a_label_meets_the_next_life_before_its_claim(scene: Scene) -> None:
    scene.waiting()
    claim = seed_claim(scene.client, scene.direct.name, 60_000)
    assert claim is not None
    scene.direct.wire.run(calls.complete(scene.keys, claim.job_id, claim.token))
    seed_enqueue(scene.client, scene.direct.name, claim.job_id, new_payload())

    with pytest.raises(Stale, match="token"):
        scene.direct.wire.run(calls.complete(scene.keys, claim.job_id, claim.token))

    assert scene.state(claim.job_id) is State.PENDING


@pytest.mark.parametrize("verb", ["retry", "release", "delay"])
def test_a_settle_that_is_resent_hears_that_it_has_happened(
    verb: str, scene: Scene, proxy: CuttingProxy
) -> None:
    held = scene.held()
    proxy.cut_before_reply(runs(verb))
    settle: dict[str, Callable[[], object]] = {
        "retry": lambda: scene.lossy.retry(held, delay=LEASE, max_attempts=3, error="boom"),
        "release": lambda: scene.lossy.release(held),
        "delay": lambda: scene.lossy.delay(held, LEASE),
    }

    assert settle[verb]() == (Retried.SCHEDULED if verb == "retry" else None)

    row = scene.direct.job(held.job_id).fields
    assert row is not None
    assert row["settled"].decode() == f"{held.token} {verb} {held.label}"
    assert row.get("excused", b"0") == (b"0" if verb == "retry" else b"1")


@pytest.mark.parametrize("verb", ["complete", "retry", "release", "delay"])
def test_a_settle_that_is_resent_leaves_the_next_holder_alone(
    verb: str, scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    held = scene.held()
    others: list[Lease] = []
    gap.meanwhile = lambda: others.append(scene.hand.take())
    settle: dict[str, Callable[[], object]] = {
        "complete": lambda: scene.lossy.complete(held),
        "retry": lambda: scene.lossy.retry(held, delay=AT_ONCE, max_attempts=3, error="boom"),
        "release": lambda: scene.lossy.release(held),
        "delay": lambda: scene.lossy.delay(held, AT_ONCE),
    }
    if verb == "complete":
        gap.meanwhile = lambda: others.append(next_life(scene, held.job_id))
    proxy.cut_before_reply(runs(verb))

    with pytest.raises(Stale) as refused:
        settle[verb]()

    assert refused.value.reason == ("label" if verb == "complete" else "token")
    assert still_holds(scene, others[0])


def test_an_extend_that_is_resent_leaves_the_next_holder_alone(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    held = scene.held()
    others: list[Lease] = []

    def lapse_and_take() -> None:
        scene.client.zadd(scene.keys.active, {held.job_id: 1})
        others.append(scene.hand.take())

    gap.meanwhile = lapse_and_take
    proxy.cut_before_reply(runs("extend_many"))

    assert scene.lossy.extend([held], LEASE) == [held.job_id]

    assert still_holds(scene, others[0])


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
