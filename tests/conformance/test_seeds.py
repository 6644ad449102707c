"""The six lines of the seeds' transcript, by their names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import Stale
from echomq_app.protocol.states import Completion, JobSet, Retried
from echomq_app.service.queue import Queue
from echomq_app.service.records import PageRequest
from tests.eventually import eventually
from tests.protocol.scene import LONG, Scene, new_id

EIGHT = ("enqueue", "browse", "pending_size", "claim", "complete", "retry", "promote", "reap")


def test_L1_surface(scene: Scene) -> None:
    """The machine's surface: claim, complete, retry, promote, reap join enqueue, browse,
    pending_size; every transition is one script.
    """
    keys, job_id = scene.keys, new_id()
    transitions = (
        calls.enqueue(keys, job_id, b"w"),
        calls.claim(keys, 1000),
        calls.complete(keys, job_id, 1),
        calls.retry(keys, job_id, 1, delay_ms=0, max_attempts=1, error="e"),
        calls.promote(keys, 1),
        calls.reap(keys, 1),
    )

    assert all(callable(getattr(Queue, verb)) for verb in EIGHT)
    for call in transitions:
        assert call.script is not None
        assert call.script.verb == call.verb
    assert scene.queue.browse() == []
    assert scene.queue.pending_size() == 0


def test_L2_happy(scene: Scene) -> None:
    """Claim hands out the oldest job with a server-clock lease and fencing token 1; complete with
    the right token retires the row: nothing remains.
    """
    oldest = scene.enqueue(b"payload")
    before = scene.server_ms()

    held = scene.queue.claim(timedelta(seconds=30))

    assert held is not None
    assert (held.job_id, held.payload, held.token) == (oldest, b"payload", 1)
    deadline = scene.score("active", oldest)
    assert deadline is not None
    assert before + 30_000 <= deadline <= scene.server_ms() + 30_000
    assert scene.queue.complete(held) is Completion.COMPLETED
    assert scene.row(oldest) == {}
    assert scene.places(oldest) == []


def test_L3_fence(scene: Scene) -> None:
    """A stale token is refused on the wire: EMQSTALE; the lease holder's work survives the
    zombie's complete.
    """
    zombie = scene.reaped(scene.held())
    holder = scene.claim()

    with pytest.raises(Stale, match=r"^EMQSTALE"):
        scene.queue.complete(zombie)

    assert scene.places(holder.job_id) == ["active"]
    assert scene.queue.complete(holder) is Completion.COMPLETED


def test_L4_schedule(scene: Scene) -> None:
    """Retry parks the job in the schedule, promote moves the due back to pending, and the next
    claim hands token 2: one job, two lives, one counter.
    """
    held = scene.held()

    parked = scene.queue.retry(held, delay=timedelta(milliseconds=20), max_attempts=3, error="boom")

    assert parked is Retried.SCHEDULED
    assert scene.places(held.job_id) == ["schedule"]
    eventually(lambda: scene.queue.promote() == 1)
    assert scene.places(held.job_id) == ["pending"]
    assert scene.claim().token == 2


def test_L5_dead(scene: Scene) -> None:
    """Attempts 2 against max 2 is the morgue: state dead, last_error kept, and the dead set
    browses in mint order like everything else.
    """
    jobs = [scene.held() for _ in range(3)]
    for held in jobs:
        scene.queue.retry(held, delay=timedelta(), max_attempts=2, error="first")
    scene.fall_due(*(held.job_id for held in jobs))
    scene.queue.promote()
    for held in reversed(scene.queue.claim_many(LONG, 3)):
        verdict = scene.queue.retry(held, delay=timedelta(), max_attempts=2, error="second")
        assert verdict is Retried.DEAD

    newest_first = scene.queue.page(PageRequest(which=JobSet.DEAD, newest_first=True)).jobs

    assert [job.job_id for job in newest_first] == [held.job_id for held in reversed(jobs)]
    assert {(job.state, job.attempts, job.last_error) for job in newest_first} == {
        ("dead", 2, "second")
    }


def test_L6_reap(scene: Scene) -> None:
    """A 40 ms lease expires unanswered; reap returns the orphan to pending and the next claim
    holds token 2: crash recovery is one zset scan on the server's clock.
    """
    job_id = scene.enqueue()
    scene.queue.claim(timedelta(milliseconds=40))

    eventually(lambda: scene.queue.reap() == 1)

    assert scene.places(job_id) == ["pending"]
    again = scene.claim()
    assert (again.job_id, again.token) == (job_id, 2)
