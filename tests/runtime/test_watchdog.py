"""When a worker's loop counts as stuck, and when it only has nothing to do, or nobody to ask."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from echomq_app.runtime.watchdog import Watchdog
from echomq_app.runtime.worker import Worker
from echomq_app.wire.link import Pending, Wire
from tests.runtime.scene import Scene
from tests.servers.proxy import CuttingProxy

SceneOf = Callable[..., Scene]
LIMIT = timedelta(seconds=60)


def watch(scene: Scene, seconds: int, tick: bool = False, beat: bool = True) -> Watchdog:
    """Look each second for so long, with a tick of the loop and a heartbeat before each, or without."""
    watchdog = Watchdog(scene.worker, LIMIT)
    for _ in range(seconds):
        scene.clock.pass_(1)
        if tick:
            scene.worker.tick()
        if beat:
            scene.worker.pulse.beaten_at = scene.clock.now
        watchdog.look()
    return watchdog


def test_a_loop_that_does_not_come_round_is_stuck_after_its_limit_and_not_before(
    scene: Scene,
) -> None:
    scene.worker.tick()

    assert watch(scene, 61).stuck == ""
    late = watch(scene, 62)

    assert late.stuck == "its loop does not come round"
    assert late.seconds == 61


def test_a_loop_that_never_came_round_is_stuck_too(scene: Scene) -> None:
    assert watch(scene, 62).stuck


def test_a_worker_that_idles_or_serves_is_not_stuck(scene: Scene) -> None:
    scene.enqueue(3)

    assert watch(scene, 200, tick=True).stuck == ""


def test_a_loop_that_turns_and_polls_no_queue_though_it_has_free_slots_is_stuck(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.worker.tick()
    monkeypatch.setattr(Worker, "_work", lambda worker, now: None)

    assert watch(scene, 62, tick=True).stuck == "it has free slots and polls no queue"


def test_a_heartbeat_that_does_not_come_round_leaves_leases_to_lapse_and_is_stuck(
    scene: Scene,
) -> None:
    assert watch(scene, 62, tick=True, beat=False).stuck == "its heartbeat does not come round"


@pytest.mark.parametrize("why", ["full", "quiet", "draining"])
def test_a_worker_without_a_free_slot_need_not_poll(scene_of: SceneOf, why: str) -> None:
    scene = scene_of(concurrency=1, sweep=False, drain=timedelta(hours=1))
    scene.enqueue(2)
    scene.worker.tick()
    scene.worker.quiet = why == "quiet"
    if why == "draining":
        scene.worker.stop()

    assert watch(scene, 200, tick=True).stuck == ""


def test_a_worker_whose_server_is_away_is_not_stuck(scene: Scene, proxy: CuttingProxy) -> None:
    scene.worker.tick()
    proxy.cut_before_request(times=100_000)

    assert watch(scene, 200, tick=True, beat=False).stuck == ""


def test_a_loop_that_waits_for_an_answer_is_given_ten_times_as_long(scene: Scene) -> None:
    scene.worker.tick()
    scene.worker.pulse.asking = True

    assert watch(scene, 600).stuck == ""
    assert watch(scene, 602).stuck


def test_a_process_that_stood_still_as_a_whole_does_not_blame_its_loop(scene: Scene) -> None:
    scene.worker.tick()
    watchdog = Watchdog(scene.worker, LIMIT)

    scene.clock.pass_(3600)
    watchdog.look()

    assert watchdog.stuck == ""


def test_a_watchdog_that_is_off_sees_nothing(scene: Scene) -> None:
    watchdog = Watchdog(scene.worker, None)

    for _ in range(1000):
        scene.clock.pass_(1)
        watchdog.look()

    assert watchdog.stuck == ""


def test_a_loop_says_that_it_asks_a_server_while_it_sends_and_while_it_waits(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking: list[bool] = []
    for kind, name in ((Wire, "begin"), (Pending, "answers")):
        real = getattr(kind, name)

        def noting(*given: Any, _real: Callable[..., Any] = real) -> Any:
            asking.append(scene.worker.pulse.asking)
            return _real(*given)

        monkeypatch.setattr(kind, name, noting)

    scene.worker.tick()

    assert asking == [True, True]
    assert not scene.worker.pulse.asking
