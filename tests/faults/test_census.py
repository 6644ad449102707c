"""The census sees whatever is wrong with a queue, and nothing in a queue that is well."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from echomq_app.protocol.ids import JobId
from echomq_app.wire.link import Wire
from tests.faults.census import census
from tests.faults.scene import Scene, receipt_of
from tests.servers.server import Server


class Queue(NamedTuple):
    """A queue with a job in each place, and one that has ended."""

    scene: Scene
    waiting: JobId
    held: JobId
    due: JobId
    dead: JobId
    ended: JobId

    def census(self) -> list[str]:
        return census(self.scene.client, self.scene.keys, self[1:])

    def row(self, job: JobId) -> str:
        return self.scene.keys.row(job)


@pytest.fixture
def queue(engine_server: Server) -> Queue:
    client = engine_server.client()
    scene = Scene(client, Wire(client))
    done = scene.held()
    scene.direct.complete(done, receipt_of(done))
    held, dead, due = scene.held(), scene.dead(), scene.due()
    return Queue(scene, scene.waiting(), held.job_id, due, dead, done.job_id)


def _loses_a_job(queue: Queue) -> None:
    queue.scene.client.delete(queue.row(queue.waiting))
    queue.scene.client.zrem(queue.scene.keys.pending, queue.waiting)


def _has_a_stranger(queue: Queue) -> None:
    queue.scene.waiting()


def _puts_a_job_in_two_places(queue: Queue) -> None:
    queue.scene.client.zadd(queue.scene.keys.dead, {queue.waiting: 0})


def _leaves_a_row_alone(queue: Queue) -> None:
    queue.scene.client.zrem(queue.scene.keys.schedule, queue.due)


def _leaves_a_ghost(queue: Queue) -> None:
    queue.scene.client.delete(queue.row(queue.held))


def _tells_another_state(queue: Queue) -> None:
    queue.scene.client.hset(queue.row(queue.held), "state", "pending")


def _breaks_a_row(queue: Queue) -> None:
    queue.scene.client.hdel(queue.row(queue.waiting), "payload")


def _forgets_who_holds(queue: Queue) -> None:
    queue.scene.client.hdel(queue.row(queue.held), "worker")


def _forgets_the_reason(queue: Queue) -> None:
    queue.scene.client.hdel(queue.row(queue.dead), "last_error")


def _brings_back_what_has_ended(queue: Queue) -> None:
    for field, value in (("state", "pending"), ("attempts", "0"), ("payload", "{}")):
        queue.scene.client.hset(queue.row(queue.ended), field, value)
    queue.scene.client.zadd(queue.scene.keys.pending, {queue.ended: 0})


def _settles_twice(queue: Queue) -> None:
    queue.scene.client.hincrby(f"{queue.scene.keys.base}metrics:completed", "count", 1)


def _keeps_an_end_for_ever(queue: Queue) -> None:
    queue.scene.client.zrem(queue.scene.keys.expire, queue.ended)


def _loses_a_receipt(queue: Queue) -> None:
    queue.scene.client.delete(queue.scene.keys.result(queue.ended))


SPOILT: dict[Callable[[Queue], None], tuple[str, str]] = {
    _loses_a_job: ("waiting", "was admitted and is nowhere"),
    _has_a_stranger: ("", "is here and was never admitted"),
    _puts_a_job_in_two_places: ("waiting", "has a row and stands in ['pending', 'dead']"),
    _leaves_a_row_alone: ("due", "has a row and stands in no set"),
    _leaves_a_ghost: ("held", "stands in active and has no row"),
    _tells_another_state: ("held", "stands in active and its row says pending, not active"),
    _breaks_a_row: ("waiting", "has a row without ['payload']"),
    _forgets_who_holds: ("held", "is held under token none, and its last is 1"),
    _forgets_the_reason: ("dead", "is dead and nobody says why"),
    _brings_back_what_has_ended: ("ended", "has ended and has a row"),
    _settles_twice: ("", "2 completions were counted and 1 jobs have ended"),
    _keeps_an_end_for_ever: ("ended", "has ended and nobody will forget it"),
    _loses_a_receipt: ("ended", "is listed in expire and has not ended"),
}


def test_a_queue_that_is_well_has_nothing_to_report(queue: Queue) -> None:
    assert queue.census() == []


@pytest.mark.parametrize("spoil", SPOILT)
def test_what_is_spoilt_is_reported(queue: Queue, spoil: Callable[[Queue], None]) -> None:
    whose, words = SPOILT[spoil]

    spoil(queue)

    told = f"{getattr(queue, whose)} {words}" if whose else words
    assert any(told in line for line in queue.census()), queue.census()
