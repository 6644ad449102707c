from __future__ import annotations

import threading

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, ServerFault, WrongKind, WrongType
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.replies import Slot
from echomq_app.protocol.states import SlotFiring
from echomq_app.service.slots import Firing, Slots
from echomq_app.wire.link import Wire
from tests.protocol.scene import Scene
from tests.protocol.schedules import MINUTE_MS, due_slot, minutes_around, slots_of
from tests.servers.server import Server


def fire(
    scene: Scene, slot: Slot, *, shift_ms: int = 0, every: bool = False, raw: bytes = b"w"
) -> Firing:
    last_ms, next_ms = minutes_around(scene)
    return slots_of(scene).fire(
        slot, raw, last_ms=last_ms + shift_ms, next_ms=next_ms + shift_ms, every_missed=every
    )


def refused(scene: Scene, slot: Slot, *, shift_ms: int = 0, every: bool = False) -> SlotFiring:
    """The verdict of a firing that left everything as it was."""
    before = scene.snapshot()
    firing = fire(scene, slot, shift_ms=shift_ms, every=every)
    assert scene.snapshot() == before
    assert firing.job_id is None
    return firing.verdict


def test_a_slot_that_is_due_admits_its_job_and_the_schedule_moves_on(scene: Scene) -> None:
    slot = due_slot(scene)
    last_ms, next_ms = minutes_around(scene)

    verdict, job_id = slots_of(scene).fire(slot, b"payload", last_ms=last_ms, next_ms=next_ms)

    assert verdict is SlotFiring.FIRED
    assert job_id is not None
    assert scene.row(job_id) == {"state": "pending", "attempts": "0", "payload": "payload"}
    assert scene.members("pending") == [job_id]
    assert slots_of(scene).read("daily") == slot._replace(due_ms=next_ms)
    assert scene.wakes() == 1


def test_a_slot_that_somebody_has_fired_is_not_fired_again(scene: Scene) -> None:
    slot = due_slot(scene)
    fire(scene, slot)

    assert refused(scene, slot) is SlotFiring.MOVED


@pytest.mark.parametrize("every", [True, False])
def test_a_slot_fired_behind_the_times_is_not_fired_again_either(scene: Scene, every: bool) -> None:
    slot = due_slot(scene, ago_ms=3 * MINUTE_MS)
    assert fire(scene, slot, shift_ms=-2 * MINUTE_MS, every=True).verdict is SlotFiring.FIRED

    assert refused(scene, slot, every=every) is SlotFiring.MOVED


def test_a_schedule_that_was_edited_is_not_fired_as_it_was(scene: Scene) -> None:
    slot = due_slot(scene)
    slots_of(scene).write("daily", b"edited", slot.due_ms or 0, slot)

    assert refused(scene, slot) is SlotFiring.MOVED


def test_a_schedule_that_was_removed_is_not_fired(scene: Scene) -> None:
    slot = due_slot(scene)
    slots_of(scene).remove("daily")

    assert refused(scene, slot) is SlotFiring.MOVED


def test_a_schedule_that_was_removed_and_written_again_is_another_one(scene: Scene) -> None:
    slot = due_slot(scene)
    slots_of(scene).remove("daily")
    slots_of(scene).write("daily", slot.template, slot.due_ms or 0)

    assert refused(scene, slot) is SlotFiring.MOVED


def test_a_scheduler_whose_clock_is_ahead_fires_no_slot_early(scene: Scene) -> None:
    slot = due_slot(scene, ago_ms=-MINUTE_MS)

    assert refused(scene, slot, shift_ms=MINUTE_MS) is SlotFiring.EARLY
    assert refused(scene, slot, shift_ms=MINUTE_MS, every=True) is SlotFiring.EARLY


@pytest.mark.parametrize("shift_ms", [MINUTE_MS, -MINUTE_MS], ids=["ahead", "behind"])
def test_a_scheduler_whose_clock_is_off_by_a_slot_has_to_compute_anew(
    scene: Scene, shift_ms: int
) -> None:
    slot = due_slot(scene, ago_ms=5 * MINUTE_MS)

    assert refused(scene, slot, shift_ms=shift_ms) is SlotFiring.OFF


def test_where_the_latest_slot_runs_alone_those_before_it_are_passed_over(scene: Scene) -> None:
    slot = due_slot(scene, ago_ms=5 * MINUTE_MS)

    assert fire(scene, slot).verdict is SlotFiring.FIRED

    due = slots_of(scene).due()
    assert due.slots == []
    assert len(scene.members("pending")) == 1


def test_where_every_missed_slot_runs_each_runs_once_in_its_turn(scene: Scene) -> None:
    slot = due_slot(scene, ago_ms=3 * MINUTE_MS + 1000)
    start = slot.due_ms or 0
    verdicts = []

    while due := slots_of(scene).due().slots:
        (seen,) = due
        assert seen.due_ms is not None
        firing = slots_of(scene).fire(
            seen,
            b"w",
            last_ms=seen.due_ms,
            next_ms=seen.due_ms + MINUTE_MS,
            every_missed=True,
        )
        verdicts.append(firing.verdict)

    assert verdicts == [SlotFiring.FIRED] * 4
    assert scene.score("slots", "daily") == start + 4 * MINUTE_MS


def test_a_next_slot_that_is_not_after_the_one_that_fires_is_refused(scene: Scene) -> None:
    slot = due_slot(scene)
    before = scene.snapshot()

    with pytest.raises(ServerFault, match="a next slot after the one that is due"):
        slots_of(scene).fire(slot, b"w", last_ms=0, next_ms=slot.due_ms or 0, every_missed=True)

    assert scene.snapshot() == before


def test_an_id_that_is_known_already_is_left_alone_and_another_is_minted(scene: Scene) -> None:
    slot = due_slot(scene)
    twin = Minter(node=5, clock=lambda: 1_800_000_000.0, spread=0)
    taken = Minter(node=5, clock=lambda: 1_800_000_000.0, spread=0).mint()
    scene.enqueue(b"another's", taken)
    last_ms, next_ms = minutes_around(scene)

    verdict, job_id = Slots(scene.wire, scene.name, minter=twin).fire(
        slot, b"ours", last_ms=last_ms, next_ms=next_ms
    )

    assert verdict is SlotFiring.FIRED
    assert job_id not in (None, taken)
    assert scene.fields(taken, "payload") == ["another's"]


def test_an_id_that_left_a_receipt_is_known(scene: Scene) -> None:
    held = scene.held()
    scene.queue.complete(held, calls.Retention(mark="m", receipt_ms=60_000))
    last_ms, next_ms = minutes_around(scene)
    call = calls.slot_fire(
        scene.keys,
        due_slot(scene),
        job_id=held.job_id,
        payload=b"w",
        last_ms=last_ms,
        next_ms=next_ms,
        every_missed=False,
    )

    assert scene.run(call) is SlotFiring.DUPLICATE


def test_a_wrong_kind_is_refused_with_nothing_fired(scene: Scene) -> None:
    slot = due_slot(scene)
    before = scene.snapshot()

    with pytest.raises(WrongKind):
        scene.run(
            calls.slot_fire(
                scene.keys,
                slot,
                job_id="ORD0KHTOWnGLuC",
                payload=b"w",
                last_ms=0,
                next_ms=1,
                every_missed=False,
            )
        )

    assert scene.snapshot() == before


@pytest.mark.parametrize(("last_ms", "next_ms"), [(-1, 1), (1, -1)])
def test_a_time_that_is_none_is_refused_before_any_wire(
    scene: Scene, last_ms: int, next_ms: int
) -> None:
    slot = Slot("daily", 5, "r", b"t")

    with pytest.raises(InvalidInput, match="_ms is a whole number from 0"):
        slots_of(scene).fire(slot, b"w", last_ms=last_ms, next_ms=next_ms)


@pytest.mark.parametrize("key", ["slots", "slot:daily", "pending"])
def test_a_key_of_another_type_is_refused_with_nothing_fired(scene: Scene, key: str) -> None:
    slot = due_slot(scene)
    scene.client.delete(scene.key(key))
    scene.client.set(scene.key(key), "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        fire(scene, slot)

    assert scene.snapshot() == before


def test_schedulers_that_fire_at_one_time_run_each_slot_once(engine_server: Server) -> None:
    scene = Scene(engine_server.client())
    slots = [due_slot(scene, f"daily {number}") for number in range(20)]
    last_ms, next_ms = minutes_around(scene)
    start = threading.Barrier(4)
    firings: list[Firing] = []

    def schedule(node: int) -> None:
        scheduler = Slots(Wire(engine_server.client()), scene.name, minter=Minter(node=node))
        start.wait()
        for slot in slots:
            firings.append(scheduler.fire(slot, b"w", last_ms=last_ms, next_ms=next_ms))

    schedulers = [threading.Thread(target=schedule, args=(node,)) for node in range(4)]
    for one in schedulers:
        one.start()
    for one in schedulers:
        one.join()

    verdicts = [firing.verdict for firing in firings]
    assert verdicts.count(SlotFiring.FIRED) == 20
    assert verdicts.count(SlotFiring.MOVED) == 60
    assert len(scene.members("pending")) == 20
