from __future__ import annotations

from dataclasses import replace

from echomq_app.protocol import replies
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.states import Admission, Completion, State
from tests.protocol.scene import Scene

KEEP = Retention(
    mark="nonce", receipt_ms=60_000, outcome=b'{"value":1}\n', result_ms=600_000, limit=3
)


def test_an_outcome_is_kept_behind_its_receipt(scene: Scene) -> None:
    held = scene.held(label="w1")

    assert scene.queue.complete(held, KEEP) is Completion.COMPLETED

    result = scene.keys.result(held.job_id)
    receipt = replies.receipt(scene.client.get(result))
    assert receipt is not None
    assert (receipt.mark, receipt.token, receipt.label) == ("nonce", 1, "w1")
    assert receipt.outcome == b'{"value":1}\n'
    assert 540_000 < scene.client.pttl(result) <= 600_000
    assert scene.row(held.job_id) == {}


def test_an_outcome_is_listed_wherever_it_must_be_found(scene: Scene) -> None:
    held = scene.held()

    scene.queue.complete(held, KEEP)

    assert scene.score("done", held.job_id) == 0
    assert scene.score("expire", held.job_id) == scene.score("outcomes", held.job_id)
    assert scene.queue.state(held.job_id) is State.DONE
    assert scene.queue.facts().counts.done == 1


def test_done_is_in_mint_order_whoever_finished_first(scene: Scene) -> None:
    first, second = scene.held(), scene.held()

    scene.queue.complete(second, KEEP)
    scene.queue.complete(first, KEEP)

    assert scene.members("done") == [first.job_id, second.job_id]


def test_over_the_bound_the_soonest_to_expire_shrink_to_their_receipts(scene: Scene) -> None:
    jobs = [scene.held() for _ in range(5)]

    for hours, held in enumerate(jobs, start=1):
        scene.queue.complete(held, replace(KEEP, result_ms=hours * 3_600_000))

    kept = [held.job_id for held in jobs[2:]]
    assert scene.members("done") == kept
    assert sorted(scene.members("outcomes")) == kept
    for held in jobs[:2]:
        result = scene.keys.result(held.job_id)
        receipt = replies.receipt(scene.client.get(result))
        assert receipt is not None
        assert receipt.outcome is None
        assert 0 < scene.client.pttl(result) <= 60_000
        assert scene.score("expire", held.job_id) == receipt.until_ms


def test_a_receipt_in_an_outcome_that_is_over_goes_with_it(scene: Scene) -> None:
    first, second = scene.held(), scene.held()
    scene.queue.complete(first, replace(KEEP, receipt_ms=1, limit=1))
    scene.client.set(scene.keys.result(first.job_id), b"nonce 1 1 \nold", keepttl=True)

    scene.queue.complete(second, replace(KEEP, limit=1, result_ms=3_600_000))

    assert scene.client.get(scene.keys.result(first.job_id)) is None
    assert scene.members("done") == scene.members("expire") == [second.job_id]


def test_a_bound_of_none_keeps_the_receipt_alone(scene: Scene) -> None:
    held = scene.held()

    scene.queue.complete(held, replace(KEEP, limit=0))

    assert scene.members("done") == []
    assert scene.queue.state(held.job_id) is State.DONE


def test_while_the_outcome_lives_the_id_is_not_admitted_again(scene: Scene) -> None:
    held = scene.held(b'{"meta": {"nonce": "nonce"}}')
    scene.queue.complete(held, KEEP)

    assert scene.queue.enqueue(held.job_id, held.payload) is Admission.DUPLICATE
    assert scene.members("pending") == []


def test_a_second_completion_leaves_the_first_outcome(scene: Scene) -> None:
    held = scene.held()
    scene.queue.complete(held, KEEP)
    before = scene.snapshot()

    assert scene.queue.complete(held, replace(KEEP, outcome=b"other")) is Completion.GONE

    assert scene.snapshot() == before
