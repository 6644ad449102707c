from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import SUBKEY_MS
from echomq_app.protocol.errors import InvalidInput
from tests.protocol.scene import Scene, new_id


def test_lines_are_kept_in_order_and_counted(scene: Scene) -> None:
    job_id = scene.enqueue()

    counts = [scene.queue.add_log(job_id, line) for line in ("one", "two", "é")]

    assert counts == [1, 2, 3]
    assert scene.queue.logs(job_id) == ["one", "two", "é"]


def test_only_the_last_lines_are_kept_when_asked(scene: Scene) -> None:
    job_id = scene.enqueue()
    for line in ("one", "two", "three"):
        scene.queue.add_log(job_id, line, keep=None)

    assert scene.queue.add_log(job_id, "four", keep=2) == 2

    assert scene.queue.logs(job_id) == ["three", "four"]


def test_a_log_goes_with_its_job_and_does_not_outlive_a_foreign_completion_for_ever(
    scene: Scene,
) -> None:
    job_id = scene.enqueue()

    scene.queue.add_log(job_id, "one")

    assert 0 < scene.client.pttl(scene.keys.logs(job_id)) <= SUBKEY_MS


def test_a_log_may_be_kept_for_ever(scene: Scene) -> None:
    job_id = scene.enqueue()

    scene.run(calls.add_log(scene.keys, job_id, "one", keep_ms=None))

    assert scene.client.pttl(scene.keys.logs(job_id)) == -1


def test_a_job_without_lines_has_an_empty_log_and_a_gone_one_has_none(scene: Scene) -> None:
    assert scene.queue.logs(scene.enqueue()) == []
    assert scene.queue.logs(new_id()) is None


def test_a_line_for_a_job_that_is_gone_writes_nothing(scene: Scene) -> None:
    assert scene.queue.add_log(new_id(), "one") is None
    assert scene.snapshot() == {}


@pytest.mark.parametrize("keep", [0, -1])
def test_to_keep_no_line_is_refused_before_any_wire(scene: Scene, keep: int) -> None:
    with pytest.raises(InvalidInput, match=f"keep is a whole number from 1 .*; got {keep}"):
        calls.add_log(scene.keys, new_id(), "one", keep=keep)
