"""One broken row at the head of a queue: it is set aside, and what is behind it goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import JobSet, State
from echomq_app.service.queue import new_label
from echomq_app.service.records import PageRequest
from echomq_app.wire.link import Wire
from tests.faults.scene import LEASE, Scene
from tests.servers.server import Server

LANE = "PRT0KHTOWnGLuC"
DEAD = PageRequest(which=JobSet.DEAD)


@pytest.fixture
def scene(engine_server: Server) -> Scene:
    client = engine_server.client()
    return Scene(client, Wire(client))


def text(scene: Scene, row: str) -> None:
    scene.client.delete(row)
    scene.client.set(row, "not a hash")


def no_payload(scene: Scene, row: str) -> None:
    scene.client.hdel(row, "payload")


def no_attempts(scene: Scene, row: str) -> None:
    scene.client.hdel(row, "attempts")


def attempts_of(value: str) -> Callable[[Scene, str], None]:
    def set_attempts(scene: Scene, row: str) -> None:
        scene.client.hset(row, "attempts", value)

    return set_attempts


def ghost(scene: Scene, row: str) -> None:
    scene.client.delete(row)


KINDS: dict[str, Callable[[Scene, str], None]] = {
    "a string": text,
    "no payload": no_payload,
    "no attempts": no_attempts,
    "attempts abc": attempts_of("abc"),
    "attempts -1": attempts_of("-1"),
    "attempts 1.5": attempts_of("1.5"),
    "attempts of thirty digits": attempts_of("9" * 30),
    "attempts empty": attempts_of(""),
    "a ghost": ghost,
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def break_row(scene: Scene, kind: str, job_id: JobId) -> None:
    KINDS[kind](scene, scene.keys.row(job_id))


def claim_many(scene: Scene) -> list[JobId]:
    return [held.job_id for held in scene.direct.claim_many(LEASE, 1, new_label())]


def beat(scene: Scene) -> list[JobId]:
    call = calls.beat(scene.keys, batch=1, lease=60_000, size=1, label=new_label())
    return [claimed.job_id for claimed in scene.direct.wire.run(call).jobs]


@each_kind
@pytest.mark.parametrize("claim", [claim_many, beat])
def test_a_claim_serves_what_waits_behind_it(
    kind: str, claim: Callable[[Scene], list[JobId]], scene: Scene
) -> None:
    broken, good = scene.waiting(), scene.waiting()
    break_row(scene, kind, broken)

    assert claim(scene) == [good]

    assert_set_aside(scene, kind, broken)


@each_kind
@pytest.mark.parametrize("sweep", ["promote", "beat"])
def test_what_falls_due_behind_it_is_promoted(kind: str, sweep: str, scene: Scene) -> None:
    broken, good = scene.due(), scene.due()
    break_row(scene, kind, broken)

    served = swept(scene, sweep, scene.direct.promote)

    assert served == [good]
    assert_set_aside(scene, kind, broken)


@each_kind
@pytest.mark.parametrize("sweep", ["reap", "beat"])
def test_what_lapsed_behind_it_is_reaped(kind: str, sweep: str, scene: Scene) -> None:
    broken, good = scene.lapsed().job_id, scene.lapsed().job_id
    break_row(scene, kind, broken)

    served = swept(scene, sweep, scene.direct.reap)

    assert served == [good]
    assert_set_aside(scene, kind, broken)


def swept(scene: Scene, sweep: str, move: Callable[[], int]) -> list[JobId]:
    """What is claimed after three sweeps of one job each, or in three beats of one."""
    if sweep == "beat":
        return [job_id for _ in range(3) for job_id in beat(scene)]
    for _ in range(3):
        move()
    return [job_id for _ in range(3) for job_id in claim_many(scene)]


def assert_set_aside(scene: Scene, kind: str, broken: JobId) -> None:
    """In dead with its reason where one can be written; of a ghost nothing remains."""
    if kind == "a ghost":
        assert scene.holders(broken) == []
        assert scene.client.exists(scene.keys.row(broken)) == 0
        return
    assert scene.holders(broken) == [scene.keys.dead]
    details = scene.direct.page(DEAD).jobs
    assert [job.job_id for job in details] == [broken]
    assert "row of this job" in details[0].last_error


@pytest.mark.parametrize("sweep", ["promote", "reap", "beat of due", "beat of lapsed"])
def test_a_lane_of_a_wrong_type_stops_no_sweep(sweep: str, scene: Scene) -> None:
    lapses = "reap" in sweep or "lapsed" in sweep
    broken, good = (
        (scene.lapsed().job_id, scene.lapsed().job_id) if lapses else (scene.due(), scene.due())
    )
    scene.client.hset(scene.keys.row(broken), "group", LANE)
    scene.client.set(QueueKeys(scene.direct.name).lane(LANE), "not a zset")
    move = scene.direct.reap if lapses else scene.direct.promote

    assert swept(scene, sweep.partition(" ")[0], move) == [good]

    assert scene.holders(broken) == [scene.keys.dead]


@each_kind
def test_an_extension_of_many_leases_leaves_it_out(kind: str, scene: Scene) -> None:
    broken, good = scene.held(), scene.held()
    break_row(scene, kind, broken.job_id)
    lost = [] if kind == "no payload" else [broken.job_id]

    assert scene.direct.extend([broken, good], LEASE) == lost

    assert scene.state(good.job_id) is State.ACTIVE


@each_kind
def test_it_can_be_removed(kind: str, scene: Scene) -> None:
    broken = scene.waiting()
    break_row(scene, kind, broken)

    assert scene.direct.remove(broken, receipt_for=LEASE) is (kind != "a ghost")

    assert scene.holders(broken) == []
    assert scene.client.exists(scene.keys.row(broken)) == 0


@each_kind
def test_a_requeue_of_many_dead_jobs_judges_it_alone(kind: str, scene: Scene) -> None:
    broken, good = scene.dead(), scene.dead()
    break_row(scene, kind, broken)

    scene.direct.requeue_many([broken, good])

    assert scene.state(good) is State.PENDING
    assert claim_many(scene) == [good]


@each_kind
def test_a_page_shows_it_and_what_is_behind_it(kind: str, scene: Scene) -> None:
    broken, good = scene.dead(), scene.dead()
    break_row(scene, kind, broken)

    assert [job.job_id for job in scene.direct.page(DEAD).jobs] == [broken, good]
