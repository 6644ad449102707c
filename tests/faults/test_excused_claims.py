"""Claims that do not count: given back, parked, handed over; and what still counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from echomq_app.protocol.states import Requeued, Retried, State
from echomq_app.service.records import Lease
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.faults.scene import AT_ONCE, BRIEF, LEASE, Scene
from tests.servers.server import Server

MOST = 3


@pytest.fixture
def scene(engine_server: Server) -> Scene:
    client = engine_server.client()
    return Scene(client, Wire(client))


def release(scene: Scene, held: Lease) -> None:
    scene.direct.release(held)


def delay(scene: Scene, held: Lease) -> None:
    scene.direct.delay(held, AT_ONCE)


def fail(scene: Scene, held: Lease) -> Retried:
    return scene.direct.retry(held, delay=AT_ONCE, max_attempts=MOST, error="boom")


@pytest.mark.parametrize("excuse", [release, delay])
def test_ten_excused_claims_and_one_failure_at_three_attempts_are_not_dead(
    excuse: Callable[[Scene, Lease], None], scene: Scene
) -> None:
    job_id = scene.waiting()
    for _ in range(10):
        excuse(scene, scene.hand.take())
    held = scene.hand.take()

    assert (held.token, held.attempt) == (11, 1)
    assert fail(scene, held) is Retried.SCHEDULED
    assert scene.state(job_id) is State.SCHEDULED


def test_three_failures_among_excused_claims_are_dead(scene: Scene) -> None:
    scene.waiting()
    verdicts = []
    for _ in range(MOST):
        release(scene, scene.hand.take())
        delay(scene, scene.hand.take())
        verdicts.append(fail(scene, scene.hand.take()))

    assert verdicts == [Retried.SCHEDULED, Retried.SCHEDULED, Retried.DEAD]


def test_a_requeued_job_has_all_its_attempts_again(scene: Scene) -> None:
    job_id = scene.dead()

    assert scene.direct.requeue(job_id) is Requeued.REQUEUED

    assert [fail(scene, scene.hand.take()) for _ in range(MOST)] == [
        Retried.SCHEDULED,
        Retried.SCHEDULED,
        Retried.DEAD,
    ]


def test_a_lapse_counts_as_an_attempt_and_apart(scene: Scene) -> None:
    job_id = scene.waiting()
    scene.direct.claim_many(BRIEF, 1, "short")
    eventually(lambda: scene.has_lapsed(job_id))

    held = scene.hand.take()

    assert (held.attempt, held.lapses, held.excused) == (2, 1, 0)
    assert not scene.direct.extend([held], LEASE)
