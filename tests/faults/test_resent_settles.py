"""What the resend of a settle meets when the queue went on without its holder."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import Stale
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.states import Completion, Retried, State
from echomq_app.service.records import Lease
from tests.faults.scene import (
    AT_ONCE,
    LEASE,
    Scene,
    new_payload,
    outcome_of,
    receipt_of,
)
from tests.foreign import seed_claim, seed_enqueue
from tests.servers.proxy import CuttingProxy
from tests.wire.links import Gap, runs


def next_life(scene: Scene, job_id: JobId) -> Lease:
    """The same id, admitted by a program that knows no receipts, and held by another worker."""
    seed_enqueue(scene.client, scene.direct.name, job_id, new_payload())
    return scene.hand.take()


def still_holds(scene: Scene, held: Lease) -> bool:
    """Whether a holder's claim is whole: it can still renew, and ends the job itself."""
    return not scene.direct.extend([held], LEASE) and (
        scene.direct.complete(held) is Completion.COMPLETED
    )


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
