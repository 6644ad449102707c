from __future__ import annotations

import pytest

from echomq_app.protocol.errors import CeilingReached, InvalidInput
from tests.protocol.scene import Scene


def test_without_a_ceiling_any_number_may_run(scene: Scene) -> None:
    for _ in range(3):
        scene.held()

    scene.queue.rate()


def test_below_the_ceiling_all_is_well_and_at_it_the_refusal_has_a_name(scene: Scene) -> None:
    scene.queue.set_rate(2)
    scene.held()
    scene.queue.rate()
    scene.held()

    with pytest.raises(CeilingReached, match="EMQRATE as many jobs run as the queue may run"):
        scene.queue.rate()


def test_a_job_that_ends_makes_room(scene: Scene) -> None:
    scene.queue.set_rate(1)
    held = scene.held()

    scene.queue.complete(held)

    scene.queue.rate()


def test_a_ceiling_is_a_field_that_other_programs_read_and_write(scene: Scene) -> None:
    scene.queue.set_rate(7)

    assert scene.client.hget(scene.keys.meta, "concurrency") == b"7"


def test_a_ceiling_that_is_taken_away_holds_nobody(scene: Scene) -> None:
    scene.queue.set_rate(1)
    scene.held()

    scene.queue.set_rate(None)

    scene.queue.rate()
    assert scene.client.hget(scene.keys.meta, "concurrency") is None


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", ""])
def test_what_is_no_whole_number_above_zero_is_no_ceiling(scene: Scene, value: str) -> None:
    scene.client.hset(scene.keys.meta, "concurrency", value)
    scene.held()

    scene.queue.rate()


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_a_ceiling_of_none_is_refused_before_any_wire(scene: Scene, most: int) -> None:
    with pytest.raises(InvalidInput, match="a ceiling is a whole number from 1"):
        scene.queue.set_rate(most)
