from __future__ import annotations

from typing import Any

from echomq_app.connections import queue_named
from echomq_app.management.arguments import started
from echomq_app.runtime.events import Event
from tests.servers.server import Server


class Heard:
    def __init__(self) -> None:
        self.events: list[tuple[Event, dict[str, object]]] = []

    def __call__(self, event: Event, /, **facts: object) -> None:
        self.events.append((event, facts))


def test_a_queue_that_no_setting_names_is_told_with_the_nearest_that_one_does(site: Any) -> None:
    heard = Heard()

    started([queue_named("mial"), queue_named("default")], heard)

    assert heard.events == [(Event.QUEUE_UNNAMED, {"queue": "mial", "near": "mail"})]


def test_a_server_that_would_throw_jobs_away_is_told_with_the_policy_it_needs(
    site: Any, fresh_server: Server, settings: Any
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "CONNECTION": fresh_server.url}
    fresh_server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    heard = Heard()

    started([queue_named("default")], heard)

    assert heard.events == [(Event.MAY_EVICT, {"policy": "allkeys-lru", "want": "noeviction"})]


def test_a_server_that_refuses_what_it_cannot_hold_is_fine(site: Any) -> None:
    heard = Heard()

    facts = started([queue_named("default")], heard)

    assert heard.events == []
    assert str(facts["server"]).startswith("Valkey-9")
