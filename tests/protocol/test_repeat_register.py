from __future__ import annotations

from datetime import timedelta

import pytest

from echomq_app.protocol.errors import InvalidInput, WrongType
from tests.protocol.scene import Scene
from tests.protocol.schedules import repeats_of

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def test_a_repeat_is_a_name_with_its_next_run_and_a_record(scene: Scene) -> None:
    before = scene.server_ms()

    assert repeats_of(scene).register("report", HOUR, b"daily", MINUTE) is True

    due = scene.score("repeat", "report")
    assert due is not None
    assert before + 60_000 <= due <= scene.server_ms() + 60_000
    record = scene.client.hgetall(scene.key("repeat:report"))
    assert record == {b"every_ms": b"3600000", b"template": b"daily"}
    assert repeats_of(scene).count() == 1


def test_a_second_registration_of_a_name_changes_nothing(scene: Scene) -> None:
    repeats_of(scene).register("report", HOUR, b"daily", MINUTE)
    before = scene.snapshot()

    assert repeats_of(scene).register("report", MINUTE, b"other", timedelta()) is False

    assert scene.snapshot() == before


@pytest.mark.parametrize("every", [timedelta(), timedelta(seconds=-1)])
def test_an_interval_of_no_time_is_refused_before_any_wire(scene: Scene, every: timedelta) -> None:
    with pytest.raises(InvalidInput, match="every_ms is a whole number from 1"):
        repeats_of(scene).register("report", every, b"w", MINUTE)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "a repeat's name is text and not empty; got ''"),
        (None, "a repeat's name is text and not empty; got None"),
        ("\ud800", "a repeat's name is valid UTF-8; got '\\\\ud800'"),
        ("x" * 513, "a repeat's name is at most 512 bytes; got 513: 'xxx"),
    ],
)
def test_what_names_no_repeat_is_refused_before_any_wire(
    scene: Scene, name: str, sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        repeats_of(scene).register(name, HOUR, b"w", MINUTE)


def test_a_registry_of_another_type_is_refused_with_no_record_made(scene: Scene) -> None:
    scene.client.set(scene.keys.repeat, "x")
    before = scene.snapshot()

    with pytest.raises(WrongType):
        repeats_of(scene).register("report", HOUR, b"w", MINUTE)

    assert scene.snapshot() == before
