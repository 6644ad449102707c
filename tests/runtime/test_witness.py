"""Outcomes that another claim left nobody to take are noted: by whom, and beside whom, a job was run."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
import redis

from echomq_app.log import LineReport
from echomq_app.runtime.events import Event
from echomq_app.runtime.outcomes import Completed
from echomq_app.runtime.witness import MOST_WAITING, Witness
from echomq_app.service.stale import StaleOutcomes
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.runtime.scene import Scene, failed
from tests.servers.proxy import CuttingProxy
from tests.wire.links import runs


@pytest.fixture
def witness(scene: Scene) -> Witness:
    """Hears what the scene's worker tells, as it does in a worker's process."""
    witness = Witness(scene.wire, scene.clock)
    witness.report = scene.tale
    tale, worker = scene.tale, scene.worker
    lines = LineReport(logging.Logger("quiet"), also=dict.fromkeys(Witness.EVENTS, witness))

    def report(event: Event, /, **facts: object) -> None:
        tale(event, **facts)
        lines(event, **facts)

    worker.report = report
    return witness


def stale(scene: Scene) -> StaleOutcomes:
    return StaleOutcomes(scene.queue.wire, scene.queue.name)


def taken_over(scene: Scene) -> str:
    """A job that runs here and that another worker has claimed meanwhile."""
    (job,) = scene.enqueue()
    scene.worker.tick()
    scene.lapse(job)
    scene.queue.reap()
    scene.queue.claim_many(timedelta(minutes=1), 1, "thief:1:aa:0")
    return job


@pytest.mark.parametrize("outcome", [Completed(), failed()])
def test_a_refused_outcome_is_noted_with_both_claims_and_told(
    scene: Scene, witness: Witness, outcome: object
) -> None:
    job = taken_over(scene)
    scene.clock.pass_(2)
    scene.bench.end(scene.bench.running[0], outcome)  # type: ignore[arg-type]  # either kind
    scene.worker.tick()

    witness.look()

    (note,) = stale(scene).report().newest
    assert (note.job_id, note.token, note.other_token) == (job, 1, 2)
    assert note.label.startswith(scene.worker.name)
    assert (note.other_label, note.reason) == ("thief:1:aa:0", "token")
    assert note.ran == timedelta(seconds=2)
    (told,) = scene.tale.of(Event.RAN_TWICE)
    assert (told["job"], told["token"], told["other_token"]) == (job, 1, 2)
    assert told["other"] == "thief:1:aa:0"


def test_an_outcome_that_was_not_sent_because_the_lease_was_lost_is_noted_too(
    scene: Scene, witness: Witness
) -> None:
    taken_over(scene)
    scene.clock.pass_(20)
    scene.tick()
    scene.bench.end_all()
    scene.worker.tick()

    witness.look()

    (note,) = stale(scene).report().newest
    assert (note.reason, note.other_token) == ("lost", 2)


def test_a_resend_that_is_refused_proves_nothing_and_is_not_noted(
    scene: Scene, witness: Witness, proxy: CuttingProxy
) -> None:
    scene.enqueue()
    scene.worker.tick()
    scene.bench.end_all()
    proxy.cut_before_reply(runs("complete"))
    scene.worker.tick()
    assert scene.tale.of(Event.SETTLE_UNKNOWN)

    witness.look()

    assert stale(scene).report().count == 0


def test_a_job_that_an_operator_removed_counts_and_is_not_told_as_run_twice(
    scene: Scene, witness: Witness
) -> None:
    (job,) = scene.enqueue()
    scene.worker.tick()
    scene.queue.remove(job, force=True)
    scene.bench.end_all()
    scene.worker.tick()

    witness.look()

    assert stale(scene).report().newest[0].reason == "gone"
    assert scene.tale.of(Event.RAN_TWICE) == []


def test_what_settles_as_it_should_costs_no_round_trip(
    scene: Scene, witness: Witness, proxy: CuttingProxy
) -> None:
    scene.enqueue(5)
    scene.worker.tick()
    scene.bench.end_all()
    scene.worker.tick()
    proxy.reset()

    witness.look()

    assert proxy.round_trips == 0


def test_a_note_waits_for_a_server_that_is_away_and_says_how_long_ago_it_was(
    scene: Scene, witness: Witness
) -> None:
    taken_over(scene)
    scene.bench.end_all()
    scene.worker.tick()
    there, nowhere = witness.wire, redis.Redis(unix_socket_path="/nowhere/s.sock")
    witness.wire = Wire(nowhere, Bus(patience_s=0.05))
    witness.look()
    witness.wire = there
    scene.clock.pass_(30)

    witness.look()

    (note,) = stale(scene).report().newest
    assert note.overlap == timedelta()


def test_a_note_whose_answer_is_lost_is_not_sent_again(
    scene: Scene, witness: Witness, proxy: CuttingProxy
) -> None:
    taken_over(scene)
    scene.bench.end_all()
    scene.worker.tick()
    proxy.cut_before_reply(runs("note_stale"))

    witness.look()
    witness.look()

    assert stale(scene).report().count == 1


def test_of_very_many_the_newest_wait(witness: Witness) -> None:
    facts = {"queue": "q", "token": 1, "label": "x", "seconds": 1.0, "reason": "token"}
    for number in range(MOST_WAITING + 5):
        witness(Event.SETTLE_REFUSED, job=f"job{number}", **facts)

    assert (len(witness._waiting), witness._waiting[0].job_id) == (MOST_WAITING, "job5")
