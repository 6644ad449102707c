from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol.errors import InvalidInput
from tests.protocol.scene import Scene
from tests.protocol.schedules import repeats_of

MINUTE = timedelta(minutes=1)


def test_a_repeat_that_is_cancelled_leaves_nothing_but_the_jobs_it_admitted(scene: Scene) -> None:
    repeats_of(scene).register("report", MINUTE, b"w", timedelta())
    (fired,) = repeats_of(scene).fire()

    assert repeats_of(scene).cancel("report") is True

    assert (repeats_of(scene).count(), scene.client.exists(scene.key("repeat:report"))) == (0, 0)
    assert scene.members("pending") == [fired.job_id]


def test_what_is_not_registered_cannot_be_cancelled(scene: Scene) -> None:
    repeats_of(scene).register("report", MINUTE, b"w", MINUTE)

    assert repeats_of(scene).cancel("another") is False

    assert repeats_of(scene).count() == 1


@pytest.mark.parametrize("half", ["name", "record"])
def test_half_a_registration_is_cleared(scene: Scene, half: str) -> None:
    if half == "name":
        scene.client.zadd(scene.keys.repeat, {"report": 1})
    else:
        scene.client.hset(scene.key("repeat:report"), "every_ms", "5")

    assert repeats_of(scene).cancel("report") is True

    assert scene.snapshot() == {}


def test_a_cancelled_name_can_be_registered_again(scene: Scene) -> None:
    repeats_of(scene).register("report", MINUTE, b"old", MINUTE)
    repeats_of(scene).cancel("report")

    assert repeats_of(scene).register("report", MINUTE, b"new", MINUTE) is True


def test_no_name_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidInput, match="a repeat's name is text and not empty"):
        repeats_of(scene).cancel("")
