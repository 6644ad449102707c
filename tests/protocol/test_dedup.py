from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import InvalidInput, WrongType
from tests.protocol.scene import LONG, Scene, new_id


def known(scene: Scene) -> dict[bytes, bytes]:
    """The entries that tell which key stands for which job."""
    found: dict[bytes, bytes] = scene.client.hgetall(scene.key("dids"))
    return found


def test_the_first_to_park_a_key_keeps_it_and_the_second_hears_whose_it_is(scene: Scene) -> None:
    first, second = new_id(), new_id()

    assert scene.queue.dedup("once", first, LONG) == first
    assert scene.queue.dedup("once", second, LONG) == first

    assert scene.queue.dedup_holder("once") == first
    assert known(scene) == {first.encode(): b"once"}


def test_a_key_is_parked_under_the_name_that_other_programs_read(scene: Scene) -> None:
    job_id = new_id()

    scene.queue.dedup("order 7:\x00é", job_id, LONG)

    assert scene.client.get("emq:{q}:de:order 7:\x00é") == job_id.encode()


def test_a_key_stands_for_its_time_and_parking_it_again_does_not_stretch_it(scene: Scene) -> None:
    job_id = new_id()
    scene.queue.dedup("once", job_id, timedelta(minutes=1))

    assert scene.queue.dedup("once", job_id, LONG) == job_id

    assert 0 < scene.client.pttl(scene.key("de:once")) <= 60_000


def test_a_key_that_nobody_parked_is_absent(scene: Scene) -> None:
    assert scene.queue.dedup_holder("once") is None


def test_removing_the_job_lets_go_of_its_key(scene: Scene) -> None:
    job_id = scene.enqueue()
    scene.queue.dedup("once", job_id, LONG)

    scene.queue.remove(job_id)

    assert scene.queue.dedup_holder("once") is None
    assert known(scene) == {}


def test_a_key_that_another_job_has_taken_since_is_not_let_go(scene: Scene) -> None:
    job_id, other = scene.enqueue(), new_id()
    scene.queue.dedup("once", job_id, LONG)
    scene.client.set(scene.key("de:once"), other)

    scene.queue.remove(job_id)

    assert scene.queue.dedup_holder("once") == other


def test_a_completion_leaves_the_key_until_its_time(scene: Scene) -> None:
    held = scene.held()
    scene.queue.dedup("once", held.job_id, LONG)

    scene.queue.complete(held)

    assert scene.queue.dedup_holder("once") == held.job_id


def test_entries_of_keys_that_expired_stay_few(scene: Scene) -> None:
    for number in range(300):
        scene.queue.dedup(f"key {number}", new_id(), LONG)
        scene.client.delete(scene.key(f"de:key {number}"))

    assert len(known(scene)) < 10


def test_living_keys_keep_their_entries_however_many_are_parked(scene: Scene) -> None:
    for number in range(100):
        scene.queue.dedup(f"key {number}", new_id(), LONG)

    assert len(known(scene)) == 100


@pytest.mark.parametrize("did", ["", "x" * 513, b"bytes", None])
def test_what_names_no_key_is_refused_before_any_wire(scene: Scene, did: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"a deduplication key is (text and not empty|at most 512 bytes); got "
    ):
        scene.queue.dedup(did, new_id(), LONG)
    with pytest.raises(InvalidInput):
        scene.queue.dedup_holder(did)


def test_a_key_for_no_time_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidInput, match="keep_ms is a whole number from 1"):
        calls.dedup(scene.keys, "once", new_id(), 0)


def test_a_key_of_another_type_is_refused(scene: Scene) -> None:
    scene.client.lpush(scene.key("de:once"), "x")

    with pytest.raises(WrongType):
        scene.queue.dedup("once", new_id(), LONG)
