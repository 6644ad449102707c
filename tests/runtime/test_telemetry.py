"""Listeners in the process: who hears what, and what a listener that raises costs."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest

from echomq_app.management.arguments import report_for
from echomq_app.runtime.events import Event
from echomq_app.runtime.telemetry import NAMES, Telemetry, telemetry
from tests.runtime.scene import Scene


class Ear:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, object]]] = []

    def __call__(self, name: str, facts: Mapping[str, object]) -> None:
        self.heard.append((name, dict(facts)))


def test_a_listener_hears_the_events_that_it_named_and_no_other() -> None:
    ours, ear, every = Telemetry(), Ear(), Ear()
    ours.attach(ear, "job.retry", "job.fail")
    ours.attach(every)

    for event in Event:
        ours(event, job="J")

    assert [name for name, _ in ear.heard] == ["job.retry", "job.fail"]
    assert {name for name, _ in every.heard} == set(NAMES.values())


def test_a_listener_that_is_detached_hears_no_more() -> None:
    ours, ear = Telemetry(), Ear()
    detach = ours.attach(ear)
    ours.attach(ear)
    detach()
    detach()

    ours(Event.COMPLETED)

    assert len(ear.heard) == 1


def test_nobody_is_attached_at_first_and_that_can_be_asked() -> None:
    ours = Telemetry()
    assert not ours

    detach = ours.attach(Ear())
    assert ours
    detach()
    assert not ours


def test_a_name_that_no_event_has_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"no event is named 'job.done'; there are .*job.complete"):
        Telemetry().attach(Ear(), "job.complete", "job.done")


def test_a_listener_that_raises_is_detached_and_the_others_hear(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    ours, ear = Telemetry(), Ear()

    def breaks(name: str, facts: Mapping[str, object]) -> None:
        raise KeyError(name)

    ours.attach(breaks)
    ours.attach(ear, "job.complete")
    scene.worker.report = ours
    scene.enqueue(2)
    with caplog.at_level(logging.ERROR, "echomq.telemetry"):
        scene.worker.tick()
        scene.bench.end_all()
        scene.worker.tick()

    assert [name for name, _ in ear.heard] == ["job.complete"] * 2
    assert [record.message for record in caplog.records] == [
        "a listener to job.start raised and is detached"
    ]


def test_a_command_s_report_tells_those_who_listen_and_is_plain_when_nobody_does(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert type(report_for("worker", 1)).__name__ == "LineReport"

    ear = Ear()
    detach = telemetry.attach(ear, "job.complete")
    try:
        with caplog.at_level(logging.DEBUG, "echomq.worker"):
            report_for("worker", 2)(Event.COMPLETED, job="J")
    finally:
        detach()

    assert ear.heard == [("job.complete", {"job": "J"})]
    assert [record.message for record in caplog.records] == ["job done job=J"]
