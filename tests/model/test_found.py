"""What the machine has found, each as the shortest story that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from echomq_app.protocol.states import Admission
from tests.model.lossy import Fate
from tests.model.scene import POOL, Scene, Trouble
from tests.servers.server import Server

JOB = POOL[0]


@pytest.fixture
def scene(engine_server: Server) -> Iterator[Scene]:
    scene = Scene(engine_server.client())
    yield scene
    scene.view().check(scene.truth)
    scene.close()


def test_an_ended_job_is_known_by_its_receipt_though_another_program_has_taken_its_id(
    scene: Scene,
) -> None:
    ours, raw = scene.producers[0], scene.intent(JOB, again=False)
    ours.enqueue(JOB, raw)
    ours.remove(JOB, receipt_for=timedelta(minutes=2))
    scene.foreign_enqueue(JOB)

    assert ours.enqueue(JOB, raw) is Admission.DUPLICATE
    assert ours.enqueue_many([(JOB, raw)]) == [Admission.DUPLICATE]


def test_a_lost_admission_is_ours_though_its_job_is_done_and_another_program_has_taken_its_id(
    scene: Scene,
) -> None:
    ours, raw = scene.producers[0], scene.intent(JOB, again=False)
    trouble = Trouble(((Fate.LOST_REPLY, "finish"), (Fate.UNSENT, "foreign_collide")))

    outcome = scene.attempt(ours, trouble, lambda: ours.enqueue(JOB, raw))

    assert outcome is Admission.ADMITTED
