"""Who may settle (decision 4): each rule on each verb of a holder."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from echomq_app.protocol.calls import Call
from echomq_app.protocol.errors import InvalidInput, Stale
from echomq_app.protocol.states import Completion
from tests.foreign.seeds import seed_claim, seed_enqueue
from tests.protocol.scene import Scene, new_id
from tests.protocol.settles import (
    ENDING,
    HELD_ONLY,
    PARKING,
    SETTLES,
    Settle,
    complete,
    complete_keep,
    extend,
    release,
    retry,
    verb_of,
)

SENTENCES = {
    "gone": "EMQSTALE gone: there is no such job",
    "token": "EMQSTALE token: another claim holds the job, or none does",
    "label": "EMQSTALE label: the token was handed to another claim",
    "place": "EMQSTALE place: the job is not where its holder left it",
    "parked": "EMQSTALE parked: this very settle has happened already",
}
every_settle = pytest.mark.parametrize("settle", SETTLES, ids=lambda s: s.__name__)
every_ending = pytest.mark.parametrize("settle", ENDING, ids=lambda s: s.__name__)
every_parking = pytest.mark.parametrize("parking", PARKING, ids=lambda s: s.__name__)


def refused(scene: Scene, call: Call[Any]) -> str:
    """The reason of a refusal that left everything as it was."""
    before = scene.snapshot()
    with pytest.raises(Stale) as stale:
        scene.run(call)
    assert scene.snapshot() == before
    assert str(stale.value) == SENTENCES[stale.value.reason]
    return stale.value.reason


@every_settle
def test_the_holder_may_settle(scene: Scene, settle: Settle) -> None:
    held = scene.held(label="w1")

    scene.run(settle(scene.keys, held.job_id, held.token, "w1"))

    assert len(scene.places(held.job_id)) == (0 if "complete" in settle.__name__ else 1)


@every_settle
def test_a_settle_without_a_label_is_judged_by_its_token_as_a_foreign_one_is(
    scene: Scene, settle: Settle
) -> None:
    held = scene.held(label="w1")

    scene.run(settle(scene.keys, held.job_id, held.token, ""))

    assert scene.places(held.job_id) == [] or settle not in (complete, complete_keep)


@every_settle
def test_another_token_is_refused(scene: Scene, settle: Settle) -> None:
    held = scene.held(label="w1")

    assert refused(scene, settle(scene.keys, held.job_id, held.token + 1, "w1")) == "token"


@every_settle
def test_the_token_of_an_earlier_claim_is_refused(scene: Scene, settle: Settle) -> None:
    first = scene.reaped(scene.held(label="w1"))
    assert scene.claim("w2").token == 2

    assert refused(scene, settle(scene.keys, first.job_id, first.token, "w1")) == "token"


@every_settle
def test_the_same_token_under_another_label_is_refused(scene: Scene, settle: Settle) -> None:
    held = scene.held(label="w1")

    assert refused(scene, settle(scene.keys, held.job_id, held.token, "w2")) == "label"


@every_settle
def test_a_label_is_refused_where_a_foreign_claimer_wrote_none(
    scene: Scene, settle: Settle
) -> None:
    job_id = new_id()
    seed_enqueue(scene.client, scene.name, job_id, b"w")
    held = seed_claim(scene.client, scene.name, 60_000)
    assert held is not None

    assert refused(scene, settle(scene.keys, job_id, held.token, "w1")) == "label"


@every_settle
def test_a_job_that_nobody_claimed_is_refused(scene: Scene, settle: Settle) -> None:
    job_id = scene.enqueue()

    assert refused(scene, settle(scene.keys, job_id, 1, "")) == "token"


@every_settle
@pytest.mark.parametrize("token", ["0", "", "01", "1.0", " 1", "-1", "x"])
def test_a_token_that_no_claim_hands_out_is_refused_by_the_script(
    scene: Scene, settle: Settle, token: str
) -> None:
    job_id = scene.held().job_id
    scene.client.hset(scene.keys.row(job_id), "attempts", token)
    call = settle(scene.keys, job_id, 7, "")
    words = (call.args[0], token, *call.args[2:])

    assert refused(scene, replace(call, args=words)) == "token"


@every_settle
@pytest.mark.parametrize("token", [0, -1, True, "1", 1.0])
def test_a_token_below_one_is_refused_before_any_wire(
    scene: Scene, settle: Settle, token: Any
) -> None:
    with pytest.raises(InvalidInput, match="a token is a whole number from 1"):
        settle(scene.keys, new_id(), token, "")


@every_ending
@pytest.mark.parametrize("place", ["pending", "high", "low"])
def test_after_a_lapse_the_late_end_counts_until_someone_claims(
    scene: Scene, settle: Settle, place: str
) -> None:
    held = scene.reaped(scene.held(label="w1"))
    scene.client.zrem(scene.keys.pending, held.job_id)
    scene.client.zadd(scene.key(place), {held.job_id: 0})

    scene.run(settle(scene.keys, held.job_id, held.token, "w1"))

    assert place not in scene.places(held.job_id)
    assert len(scene.places(held.job_id)) == (0 if "complete" in settle.__name__ else 1)


@pytest.mark.parametrize("settle", HELD_ONLY, ids=lambda s: s.__name__)
def test_after_a_lapse_what_needs_a_lease_is_refused(scene: Scene, settle: Settle) -> None:
    held = scene.reaped(scene.held(label="w1"))

    assert refused(scene, settle(scene.keys, held.job_id, held.token, "w1")) == "place"


@every_settle
@pytest.mark.parametrize("place", ["schedule", "dead"])
def test_a_job_that_a_foreign_settler_parked_is_refused(
    scene: Scene, settle: Settle, place: str
) -> None:
    held = scene.held()
    scene.client.zrem(scene.keys.active, held.job_id)
    scene.client.zadd(scene.key(place), {held.job_id: 0})

    assert refused(scene, settle(scene.keys, held.job_id, held.token, "")) == "place"


@every_settle
def test_a_row_that_no_set_holds_is_refused(scene: Scene, settle: Settle) -> None:
    held = scene.held()
    scene.client.zrem(scene.keys.active, held.job_id)

    assert refused(scene, settle(scene.keys, held.job_id, held.token, "")) == "place"


@every_settle
def test_a_missing_row_is_gone_and_stays_missing(scene: Scene, settle: Settle) -> None:
    job_id = new_id()
    call = settle(scene.keys, job_id, 1, "w1")

    if settle in (complete, complete_keep):
        assert scene.run(call) is Completion.GONE
    elif settle is extend:
        assert scene.run(call) is False
    else:
        assert refused(scene, call) == "gone"

    assert scene.snapshot() == {}


@every_settle
def test_a_row_without_attempts_is_gone_and_gets_none(scene: Scene, settle: Settle) -> None:
    job_id = new_id()
    scene.client.hset(scene.keys.row(job_id), "state", "active")
    scene.client.zadd(scene.keys.active, {job_id: 9e12})
    before = scene.snapshot()
    call = settle(scene.keys, job_id, 1, "")

    if settle in (complete, complete_keep, extend):
        assert scene.run(call) in (Completion.GONE, False)
    else:
        assert refused(scene, call) == "gone"

    assert scene.snapshot() == before


@every_parking
def test_the_same_settle_again_hears_that_it_has_happened(scene: Scene, parking: Settle) -> None:
    held = scene.held(label="w1")
    call = parking(scene.keys, held.job_id, held.token, "w1")

    scene.run(call)

    assert refused(scene, call) == "parked"
    assert scene.fields(held.job_id, "settled") == [f"1 {verb_of(parking)} w1"]


@every_parking
@every_settle
def test_after_a_settle_every_other_one_of_the_claim_is_refused(
    scene: Scene, parking: Settle, settle: Settle
) -> None:
    held = scene.held(label="w1")
    scene.run(parking(scene.keys, held.job_id, held.token, "w1"))
    same = verb_of(parking) == verb_of(settle)

    heard = refused(scene, settle(scene.keys, held.job_id, held.token, "w1"))

    assert heard == ("parked" if same else "token")
    assert refused(scene, settle(scene.keys, held.job_id, held.token, "w2")) == "token"


@every_settle
def test_a_job_that_was_parked_and_promoted_owes_its_old_holder_nothing(
    scene: Scene, settle: Settle
) -> None:
    held = scene.held(label="w1")
    scene.run(retry(scene.keys, held.job_id, held.token, "w1"))
    scene.fall_due(held.job_id)
    assert scene.queue.promote() == 1

    heard = refused(scene, settle(scene.keys, held.job_id, held.token, "w1"))

    assert heard == ("parked" if verb_of(settle) == "retry" else "token")


@every_settle
def test_a_requeued_job_owes_its_old_holder_nothing(scene: Scene, settle: Settle) -> None:
    held = scene.held(label="w1")
    scene.queue.retry(held, delay=timedelta(), max_attempts=1, error="boom")
    scene.queue.requeue(held.job_id)

    assert refused(scene, settle(scene.keys, held.job_id, held.token, "w1")) == "token"


@every_settle
def test_an_old_token_cannot_settle_the_next_claim_of_a_released_job(
    scene: Scene, settle: Settle
) -> None:
    first = scene.held(label="w1")
    scene.run(release(scene.keys, first.job_id, first.token, "w1"))
    second = scene.claim("w2")

    assert refused(scene, settle(scene.keys, first.job_id, first.token, "w1")) == "token"
    scene.run(settle(scene.keys, second.job_id, second.token, "w2"))


@every_settle
def test_an_old_token_meets_the_next_life_of_the_id_and_its_label_gives_it_away(
    scene: Scene, settle: Settle
) -> None:
    first = scene.held(label="w1")
    scene.run(complete(scene.keys, first.job_id, first.token, "w1"))
    scene.enqueue(job_id=first.job_id)
    assert scene.claim("w2").token == first.token

    assert refused(scene, settle(scene.keys, first.job_id, first.token, "w1")) == "label"
