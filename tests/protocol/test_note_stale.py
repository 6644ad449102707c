"""An outcome that was refused is noted with the claim that has the job instead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.replies import OtherClaim
from echomq_app.service.records import Lease
from echomq_app.service.stale import StaleOutcomes
from tests.protocol.scene import Scene, new_id

RAN = timedelta(minutes=5)


@pytest.fixture
def stale(scene: Scene) -> StaleOutcomes:
    return StaleOutcomes(scene.wire, scene.name)


def note(stale: StaleOutcomes, held: Lease, ended: timedelta = timedelta()) -> OtherClaim:
    return stale.note(held.job_id, held.token, held.label, reason="token", ran=RAN, ended=ended)


def taken_over(scene: Scene, seconds_ago: float) -> Lease:
    """A claim whose job another has held for so long."""
    held = scene.reaped(scene.held(label="host:1:aa:0"))
    scene.claim("host:2:bb:7")
    since = scene.server_ms() - int(seconds_ago * 1000)
    scene.client.hset(scene.keys.row(held.job_id), "claimed_at", since)
    return held


def test_the_holder_of_the_job_is_told_and_for_how_long_both_ran(
    scene: Scene, stale: StaleOutcomes
) -> None:
    held = taken_over(scene, 60)

    other = note(stale, held)

    assert (other.token, other.label) == (2, "host:2:bb:7")
    assert other.overlap_ms == pytest.approx(60_000, abs=2000)


def test_both_ran_no_longer_than_the_run_that_was_refused_and_not_after_its_end(
    scene: Scene, stale: StaleOutcomes
) -> None:
    assert note(stale, taken_over(scene, 3600)).overlap_ms == 300_000
    late = taken_over(scene, 60)

    assert note(stale, late, ended=timedelta(seconds=50)).overlap_ms == pytest.approx(
        10_000, abs=2000
    )
    assert note(stale, late, ended=timedelta(seconds=70)).overlap_ms == 0


def test_who_ended_the_job_is_told_by_its_receipt(scene: Scene, stale: StaleOutcomes) -> None:
    held = taken_over(scene, 60)
    second = held._replace(token=2, label="host:2:bb:7")
    scene.queue.complete(second, Retention(mark="m", receipt_ms=60_000))

    assert note(stale, held) == OtherClaim(2, "host:2:bb:7", None)


def test_a_job_that_nobody_took_over_tells_of_no_other_and_counts_all_the_same(
    scene: Scene, stale: StaleOutcomes
) -> None:
    held = scene.reaped(scene.held(label="host:1:aa:0"))
    nobody = OtherClaim(None, "", None)

    assert note(stale, held) == nobody
    assert stale.note(new_id(), 1, "x", reason="gone", ran=RAN) == nobody
    assert stale.report().count == 2


def test_a_note_says_who_when_why_and_how_long(scene: Scene, stale: StaleOutcomes) -> None:
    held = taken_over(scene, 60)
    note(stale, held)

    (one,) = stale.report().newest

    assert (one.job_id, one.token, one.label) == (held.job_id, 1, "host:1:aa:0")
    assert (one.other_token, one.other_label) == (2, "host:2:bb:7")
    assert (one.reason, one.ran) == ("token", RAN)
    assert one.overlap is not None
    assert timedelta(seconds=58) < one.overlap < timedelta(seconds=62)
    assert one.at is not None
    assert abs(one.at - datetime.now(UTC)) < timedelta(minutes=1)


def test_the_newest_hundred_are_kept_for_a_month_and_all_are_counted(
    scene: Scene, stale: StaleOutcomes
) -> None:
    jobs = [new_id() for _ in range(120)]
    for job_id in jobs:
        stale.note(job_id, 1, "x", reason="gone", ran=RAN)

    found = stale.report()

    assert found.count == 120
    assert [one.job_id for one in found.newest] == jobs[:19:-1]
    assert scene.client.pttl(scene.keys.stale) > 29 * 24 * 3600 * 1000


def test_what_another_program_has_put_there_is_passed_over(
    scene: Scene, stale: StaleOutcomes
) -> None:
    stale.note(new_id(), 1, "x", reason="gone", ran=RAN)
    scene.client.rpush(scene.keys.stale, "", "[]", "{}", b"\xff", '{"job": "x", "token": "y"}')

    assert len(stale.report().newest) == 1


def test_an_obliterated_queue_forgets_them(scene: Scene, stale: StaleOutcomes) -> None:
    stale.note(new_id(), 1, "x", reason="gone", ran=RAN)
    scene.queue.pause()

    scene.queue.obliterate(force=True)

    assert stale.report().count == 0
    assert scene.snapshot() == {}


@pytest.mark.parametrize("wrong", [{"ran_ms": -1}, {"ended_ms": -1}, {"ran_ms": 1.5}])
def test_a_span_that_is_none_is_refused_before_any_wire(wrong: dict[str, int]) -> None:
    spans = {"ran_ms": 1, "ended_ms": 1} | wrong
    with pytest.raises(InvalidInput):
        calls.note_stale(Scene(None).keys, new_id(), 1, "x", reason="token", **spans)
