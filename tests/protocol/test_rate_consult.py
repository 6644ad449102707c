from __future__ import annotations

import threading

import pytest

from echomq_app.protocol.errors import CeilingReached, InvalidInput, WrongType
from echomq_app.service.queue import Queue
from echomq_app.wire.link import Wire
from tests.protocol.scene import LONG, Scene
from tests.servers.server import Server


def test_it_claims_up_to_the_ceiling_and_leaves_the_rest(scene: Scene) -> None:
    jobs = [scene.enqueue() for _ in range(4)]
    scene.queue.set_rate(3)

    first = scene.queue.rate_consult(LONG, 2, "w1")
    second = scene.queue.rate_consult(LONG, 2, "w2")

    assert [one.job_id for one in (*first, *second)] == jobs[:3]
    assert scene.members("pending") == jobs[3:]


def test_at_the_ceiling_nothing_changes(scene: Scene) -> None:
    scene.queue.set_rate(1)
    scene.held()
    scene.enqueue()
    before = scene.snapshot()

    with pytest.raises(CeilingReached):
        scene.queue.rate_consult(LONG, 1)

    assert scene.snapshot() == before


def test_without_a_ceiling_it_is_a_claim(scene: Scene) -> None:
    jobs = [scene.enqueue() for _ in range(3)]

    held = scene.queue.rate_consult(LONG, 5, "w1")

    assert [one.job_id for one in held] == jobs
    assert scene.fields(jobs[0], "state", "attempts", "worker") == ["active", "1", "1 w1"]


def test_a_paused_queue_hands_out_nothing(scene: Scene) -> None:
    scene.enqueue()
    scene.queue.pause()

    assert scene.queue.rate_consult(LONG, 1) == []


def test_a_meta_that_cannot_be_read_is_refused(scene: Scene) -> None:
    scene.enqueue()
    scene.client.set(scene.keys.meta, "x")

    with pytest.raises(WrongType):
        scene.queue.rate_consult(LONG, 1)


@pytest.mark.parametrize("size", [0, 1001])
def test_a_batch_of_none_or_of_too_many_is_refused_before_any_wire(scene: Scene, size: int) -> None:
    with pytest.raises(InvalidInput, match="a batch size is a whole number from 1 to 1000"):
        scene.queue.rate_consult(LONG, size)


def test_claimers_that_all_consult_never_run_more_than_the_ceiling(engine_server: Server) -> None:
    scene = Scene(engine_server.client())
    for _ in range(40):
        scene.enqueue()
    scene.queue.set_rate(5)
    start = threading.Barrier(8)

    def consult() -> None:
        queue = Queue(Wire(engine_server.client()), scene.name)
        start.wait()
        for _ in range(10):
            try:
                queue.rate_consult(LONG, 2)
            except CeilingReached:
                return

    claimers = [threading.Thread(target=consult) for _ in range(8)]
    for claimer in claimers:
        claimer.start()
    for claimer in claimers:
        claimer.join()

    assert len(scene.members("active")) == 5
