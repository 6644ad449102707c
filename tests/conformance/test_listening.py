"""Scenarios of listening: to the queue's channel, to the process, and to a wish to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from echomq_app.protocol.calls.events import QueueEvent
from echomq_app.runtime.cancel import Cancellation, Cancelled
from echomq_app.runtime.events import Report, silent
from echomq_app.runtime.held import Held
from echomq_app.runtime.loop import serve
from echomq_app.runtime.outcomes import Completed, Outcome
from echomq_app.runtime.publishing import Publisher
from echomq_app.runtime.telemetry import Telemetry
from echomq_app.runtime.threads import Bell, ThreadExecutor
from echomq_app.runtime.worker import Worker, WorkerOptions
from echomq_app.service.events import EventChannel, EventFeed
from tests.protocol.scene import Scene, new_id
from tests.servers.cluster import Cluster
from tests.servers.server import Server

LONG_S = 10.0


def test_18_resubscribe(every_deployment: Server | Cluster, scene: Scene) -> None:
    nodes = every_deployment.nodes if isinstance(every_deployment, Cluster) else [every_deployment]
    with EventFeed(scene.wire, [scene.name]) as feed:
        assert feed.wait_ready(LONG_S)
        for node in nodes:
            node.admin.client_kill_filter(_type="pubsub")

        assert feed.next(0.2) is None
        assert feed.gaps == 1
        assert feed.wait_ready(LONG_S)
        EventChannel(scene.wire, scene.name).publish("again", job_id := new_id())

        assert feed.next(LONG_S) == QueueEvent(scene.name, "again", job_id, {})


def test_35_events(scene: Scene) -> None:
    publisher = Publisher(scene.wire)
    with EventFeed(scene.wire, [scene.name]) as feed:
        assert feed.wait_ready(LONG_S)
        job_id = scene.enqueue()

        work_off(scene, publisher)

        assert feed.next(LONG_S) == QueueEvent(scene.name, "completed", job_id, {"attempt": "1"})
    publisher.close()


def test_36_telemetry(scene: Scene) -> None:
    heard: list[tuple[str, object]] = []

    def listen(name: str, facts: Mapping[str, object]) -> None:
        heard.append((name, facts["job"]))

    ours = Telemetry()
    detach = ours.attach(listen, "job.complete")
    job_id = scene.enqueue()
    work_off(scene, ours)
    assert heard == [("job.complete", job_id)]

    detach()
    scene.enqueue()
    work_off(scene, ours)
    assert len(heard) == 1


def test_37_cancel(scene: Scene) -> None:
    token = Cancellation()
    assert token.check() is None
    token.raise_if_asked()

    token.cancel("enough")

    assert token.check() == "enough"
    with pytest.raises(Cancelled, match="enough"):
        token.raise_if_asked()

    def ask(worker: Worker, held: Held) -> None:
        seen.append(held.cancellation.check())
        assert worker.cancel(scene.name, held.lease.job_id, "closing")
        seen.append(held.cancellation.check())

    seen: list[str | None] = []
    scene.enqueue()
    work_off(scene, meanwhile=ask)
    assert seen == [None, "closing"]


def work_off(
    scene: Scene,
    report: Report = silent,
    meanwhile: Callable[[Worker, Held], object] = lambda worker, held: None,
) -> None:
    """Run what waits as a worker does, and complete it."""

    def run(held: Held) -> Outcome:
        meanwhile(worker, held)
        return Completed()

    bell = Bell()
    executor = ThreadExecutor(1, run, bell)
    options = WorkerOptions(concurrency=1, burst=True)
    worker = Worker(scene.wire, [scene.queue], executor, options, report=report)
    serve(worker, bell)
    executor.close()
    bell.close()
