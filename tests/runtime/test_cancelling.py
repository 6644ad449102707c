"""A job that runs here is asked to stop, and looks when it likes."""

from __future__ import annotations

import threading

import pytest

from echomq_app.runtime.cancel import Cancellation, Cancelled
from tests.runtime.scene import MINTER, Scene


def test_what_was_asked_stays_asked_and_the_first_reason_stands() -> None:
    asked = Cancellation()
    assert asked.check() is None
    asked.raise_if_asked()

    assert asked.cancel("shop closed") is True
    assert asked.cancel("too late") is False

    assert [asked.check(), asked.check()] == ["shop closed"] * 2
    with pytest.raises(Cancelled, match=r"^cancelled: shop closed$") as raised:
        asked.raise_if_asked()
    assert raised.value.reason == "shop closed"


def test_a_stop_without_a_reason_is_a_stop() -> None:
    asked = Cancellation()
    asked.cancel()

    assert asked.check() == ""
    with pytest.raises(Cancelled, match=r"^cancelled$"):
        asked.raise_if_asked()


def test_a_job_that_runs_can_be_asked_to_stop_and_others_are_not(scene: Scene) -> None:
    first, second = scene.enqueue(2)
    scene.worker.tick()

    assert scene.worker.cancel("q", first, "enough") is True
    assert scene.worker.cancel("q", first) is False

    asked = {held.lease.job_id: held.cancellation.check() for held in scene.bench.running}
    assert asked == {first: "enough", second: None}


def test_a_job_that_does_not_run_here_cannot_be_asked(scene: Scene) -> None:
    (job_id,) = scene.enqueue()

    assert scene.worker.cancel("q", job_id) is False
    scene.worker.tick()
    assert scene.worker.cancel("elsewhere", job_id) is False
    assert scene.worker.cancel("q", MINTER.mint()) is False
    scene.bench.end_all()
    scene.worker.tick()
    assert scene.worker.cancel("q", job_id) is False


def test_all_who_ask_at_once_meet_one_token(scene: Scene) -> None:
    scene.enqueue()
    scene.worker.tick()
    (held,) = scene.bench.running
    start = threading.Barrier(8)
    found: list[Cancellation] = []

    def ask() -> None:
        start.wait()
        found.append(held.cancellation)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({id(one) for one in found}) == 1
