from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidJobId, WrongKind, WrongType
from echomq_app.protocol.ids import Minter
from echomq_app.service import repeats
from echomq_app.service.repeats import Repeats
from echomq_app.wire.link import Wire
from tests.protocol.scene import Scene, new_id
from tests.protocol.schedules import MINUTE_MS, repeat_is_due, repeats_of
from tests.servers.server import Server

MINUTE = timedelta(minutes=1)
NOW = timedelta()


def test_a_repeat_that_is_due_admits_a_job_and_moves_on(scene: Scene) -> None:
    repeats_of(scene).register("report", MINUTE, b"template", NOW)
    before = scene.server_ms()

    (fired,) = repeats_of(scene).fire()

    assert fired.name == "report"
    assert scene.row(fired.job_id) == {"state": "pending", "attempts": "0", "payload": "template"}
    assert scene.members("pending") == [fired.job_id]
    due = scene.score("repeat", "report")
    assert due is not None
    assert before + MINUTE_MS <= due <= scene.server_ms() + MINUTE_MS


def test_what_is_not_due_waits(scene: Scene) -> None:
    repeats_of(scene).register("report", MINUTE, b"w", MINUTE)
    before = scene.snapshot()

    assert repeats_of(scene).fire() == []

    assert scene.snapshot() == before


def test_a_repeat_fires_again_and_again_under_ascending_ids(scene: Scene) -> None:
    repeats_of(scene).register("report", MINUTE, b"w", NOW)
    repeating, ids = repeats_of(scene), []

    for _ in range(3):
        repeat_is_due(scene, "report")
        ids += [fired.job_id for fired in repeating.fire()]

    assert len(ids) == 3
    assert ids == sorted(ids) == scene.members("pending")


def test_many_repeats_are_fired_in_bounded_steps(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "FIRE_BATCH", 4)
    for number in range(11):
        repeats_of(scene).register(f"report {number}", MINUTE, b"w", NOW)

    assert len(repeats_of(scene).fire(most=5)) == 5
    assert len(repeats_of(scene).fire()) == 6
    assert len(scene.members("pending")) == 11


def test_workers_are_woken(scene: Scene) -> None:
    repeats_of(scene).register("report", MINUTE, b"w", NOW)

    repeats_of(scene).fire()

    assert scene.wakes() == 1


@pytest.mark.parametrize("wrong", ["gone", "a string", "no interval", "interval x", "no template"])
def test_a_repeat_whose_record_cannot_be_read_leaves_the_registry_and_stops_no_other(
    scene: Scene, wrong: str
) -> None:
    record = scene.key("repeat:bad")
    scene.client.zadd(scene.keys.repeat, {"bad": 1})
    if wrong == "a string":
        scene.client.set(record, "x")
    elif wrong != "gone":
        every = {"interval x": "x"}.get(wrong, "5")
        scene.client.hset(record, mapping={"every_ms": every, "template": "w"})
        scene.client.hdel(
            record, {"no interval": "every_ms", "no template": "template"}.get(wrong, "-")
        )
    repeats_of(scene).register("good", MINUTE, b"w", NOW)

    assert [fired.name for fired in repeats_of(scene).fire()] == ["good"]

    assert scene.members("repeat") == ["good"]


def test_an_id_that_is_known_already_fires_nothing_and_the_repeat_stays_due(scene: Scene) -> None:
    repeats_of(scene).register("report", MINUTE, b"w", NOW)
    known = scene.enqueue(b"another's")
    due = scene.score("repeat", "report")

    assert scene.run(calls.repeat_fire(scene.keys, [known])) == []

    assert scene.fields(known, "payload") == ["another's"]
    assert scene.score("repeat", "report") == due


def test_a_wrong_kind_is_refused_with_nothing_fired(scene: Scene) -> None:
    repeats_of(scene).register("report", MINUTE, b"w", NOW)
    before = scene.snapshot()

    with pytest.raises(WrongKind):
        scene.run(calls.repeat_fire(scene.keys, [new_id(), "ORD0KHTOWnGLuC"]))
    with pytest.raises(InvalidJobId):
        calls.repeat_fire(scene.keys, ["nope"])

    assert scene.snapshot() == before


def test_a_pending_set_of_another_type_is_refused_with_no_repeat_moved(scene: Scene) -> None:
    repeats_of(scene).register("report", MINUTE, b"w", NOW)
    scene.client.set(scene.keys.pending, "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        repeats_of(scene).fire()

    assert scene.snapshot() == before


def test_pumps_that_fire_at_one_time_run_each_occurrence_once(engine_server: Server) -> None:
    scene = Scene(engine_server.client())
    for number in range(30):
        repeats_of(scene).register(f"report {number}", MINUTE, b"w", NOW)
    start = threading.Barrier(4)

    def pump(node: int) -> None:
        repeating = Repeats(Wire(engine_server.client()), scene.name, minter=Minter(node=node))
        start.wait()
        repeating.fire()

    pumps = [threading.Thread(target=pump, args=(node,)) for node in range(4)]
    for one in pumps:
        one.start()
    for one in pumps:
        one.join()

    assert len(scene.members("pending")) == 30
