from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from echomq_app.connections import queue_named, server_bus
from echomq_app.protocol.ids import Minter
from echomq_app.service.queue import Queue
from tests.django.admin.jobs import address, connect, done, failed, running, scheduled, waiting
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings


def test_the_queue_list_shows_the_counts_of_each_set(queue: Queue, viewer: Client) -> None:
    failed(queue)
    done(queue, {"value": 1})
    running(queue)
    scheduled(queue)
    for _ in range(3):
        waiting(queue)

    page = viewer.get(address("changelist"))

    assert page.status_code == 200
    (row,) = page.context["rows"]
    counts = row.facts.counts
    assert (counts.pending, counts.active, counts.schedule, counts.dead, counts.done) == (
        3,
        1,
        1,
        1,
        1,
    )
    assert f'<a href="{address("set", "default", "pending")}">3</a>' in page.content.decode()


def test_the_queue_list_holds_configured_and_used_queues(queue: Queue, viewer: Client) -> None:
    server_bus().join("mail")

    page = viewer.get(address("changelist"))

    assert [row.name for row in page.context["rows"]] == ["default", "mail"]


def test_the_queue_list_tells_how_long_the_oldest_job_waits(queue: Queue, viewer: Client) -> None:
    queue.enqueue(Minter(clock=lambda: time.time() - 200).mint(), b"{}")

    page = viewer.get(address("changelist")).content.decode()

    assert ">3 min 20 s</span>" in page or ">3 min 21 s</span>" in page


def test_a_paused_queue_is_marked(queue: Queue, viewer: Client) -> None:
    queue.pause()

    page = viewer.get(address("changelist")).content.decode()

    assert "emq-badge-paused" in page
    assert "emq-badge-open" not in page


def test_a_queue_with_a_key_of_the_wrong_type_fails_alone(
    queue: Queue, server: Server, viewer: Client
) -> None:
    server_bus().join("broken")
    server.ask("SET", "emq:{broken}:pending", "text")

    page = viewer.get(address("changelist"))

    broken, sound = page.context["rows"]
    assert broken.facts is None
    assert "not of EchoMQ's type" in broken.trouble.what
    assert "WRONGTYPE" in broken.trouble.seen
    assert sound.facts.counts.pending == 0
    assert page.context["trouble"] is None


def test_without_a_server_the_page_stands_and_says_where_it_looked(
    settings: Settings, viewer: Client
) -> None:
    settings.ECHOMQ = {
        "CONNECTION": "redis://ops:hunter2@127.0.0.1:1/0",
        "QUEUES": ["default", "mail"],
        "PATIENCE": 0.05,
    }

    page = viewer.get(address("changelist"))

    assert page.status_code == 200
    text = page.content.decode()
    assert "redis://ops:***@127.0.0.1:1/0 does not answer" in text
    assert "Check that it runs" in text
    assert "hunter2" not in text
    assert [row.name for row in page.context["rows"]] == ["default", "mail"]


def test_without_a_connection_in_the_settings_the_page_says_what_is_missing(
    settings: Settings, viewer: Client, in_production: None
) -> None:
    settings.ECHOMQ = {}

    page = viewer.get(address("changelist"))

    assert page.status_code == 200
    assert "ECHOMQ[&quot;CONNECTION&quot;] is missing" in page.content.decode()


def test_without_any_queue_the_page_says_how_to_get_one(
    server: Server, settings: Settings, viewer: Client
) -> None:
    connect(settings, server.url)

    page = viewer.get(address("changelist"))

    assert "No queue is known yet." in page.content.decode()


def test_the_app_is_listed_as_echomq_for_those_who_may_look(server: Server, viewer: Client) -> None:
    index = viewer.get("/admin/").content.decode()

    assert "EchoMQ" in index
    assert f'href="{address("changelist")}"' in index


def test_the_pages_ask_the_database_for_no_queue(queue: Queue, viewer: Client) -> None:
    queue_named("default").pause()
    with CaptureQueriesContext(connection) as asked:
        viewer.get(address("changelist"))
        viewer.get(address("set", "default", "dead"))

    assert not [query for query in asked.captured_queries if "echomq_app_queue" in query["sql"]]


def test_what_is_no_queue_name_in_the_servers_list_fails_alone(
    server: Server, viewer: Client
) -> None:
    server.ask("SADD", "{emq}:queues", "", "emq", "a{b}")

    page = viewer.get(address("changelist"))

    assert page.status_code == 200
    assert [row.linked for row in page.context["rows"]] == [False, False, True, False]
    assert "no queue&#x27;s name" in page.content.decode()
