"""``manage.py emq_worker`` publishes what becomes of jobs when the settings ask for it."""

from __future__ import annotations

from typing import Any

from echomq_app.service.events import EventFeed
from echomq_app.wire.link import Wire
from tests.processes.project import Project
from tests.servers.server import Server

LONG_S = 10.0


def heard_from(server: Server, **settings: Any) -> list[tuple[str, str]]:
    """The events of a burst over one good job and one that fails twice."""
    with (
        Project(server, **settings) as project,
        EventFeed(Wire(project.client), ["default"]) as feed,
    ):
        assert feed.wait_ready(LONG_S)
        (good,) = project.enqueue("plain", "text")
        (bad,) = project.enqueue("failing")
        assert project.run("emq_worker", "--burst").code() == 0
        names: dict[str, str] = {good: "good", bad: "bad"}
        heard = []
        while (event := feed.next(0.5)) is not None:
            heard.append((names[event.job_id], event.event))
        return heard


def test_a_worker_publishes_how_jobs_ended_before_it_leaves(engine_server: Server) -> None:
    heard = heard_from(engine_server, EVENTS=True)

    assert ("good", "completed") in heard
    assert ("bad", "failed") in heard


def test_a_worker_publishes_nothing_unless_it_is_asked_to(engine_server: Server) -> None:
    assert heard_from(engine_server) == []
