"""Whatever a stranger writes into a queue is text on the operator's pages."""

from __future__ import annotations

import json
from datetime import timedelta

from django.test import Client

from echomq_app.connections import queue_named, server_bus
from echomq_app.service.queue import Queue
from tests.django.admin.jobs import MINUTE, address, done, running
from tests.servers.server import Server

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>"
NAME = "<script>alert(1)<_script>"


def assert_only_text(text: str) -> None:
    assert "alert(" in text
    assert "<script>alert" not in text
    assert "<img src=x" not in text


def test_a_hostile_job_is_only_text_in_lists_and_on_its_page(
    queue: Queue, server: Server, operator: Client
) -> None:
    queue.enqueue_new(json.dumps({"task": EVIL, "args": [EVIL], "kwargs": {EVIL: EVIL}}).encode())
    (held,) = queue.claim_many(MINUTE, 1, EVIL)
    row = f"emq:{{default}}:job:{held.job_id}"
    queue.progress(held.job_id, EVIL)
    queue.add_log(held.job_id, EVIL)
    server.ask("HSET", row, "state", EVIL, "group", EVIL, EVIL, EVIL)
    server.ask("HDEL", row, "group")
    report = json.dumps({"error": EVIL, "traceback": EVIL, "worker": EVIL, "attempt": EVIL})
    active = operator.get(address("set", "default", "active")).content.decode()
    queue.retry(held, delay=timedelta(), max_attempts=1, error=EVIL, report=report.encode())

    dead = operator.get(address("set", "default", "dead")).content.decode()
    page = operator.get(address("job", "default", held.job_id)).content.decode()

    assert_only_text(active)
    assert_only_text(dead)
    assert_only_text(page)
    assert page.count("alert(1)") >= 8


def test_a_payload_that_is_not_json_is_only_text(queue: Queue, operator: Client) -> None:
    job_id = queue.enqueue_new(EVIL.encode())

    assert_only_text(operator.get(address("job", "default", job_id)).content.decode())


def test_a_hostile_outcome_is_only_text(queue: Queue, operator: Client) -> None:
    job_id = done(queue, {"task": EVIL, "value": EVIL, "status": EVIL, "error": EVIL})

    assert_only_text(operator.get(address("job", "default", job_id)).content.decode())
    assert_only_text(operator.get(address("set", "default", "done")).content.decode())


def test_a_hostile_queue_name_is_only_text(queue: Queue, operator: Client) -> None:
    server_bus().join(NAME)
    running(queue_named(NAME))

    listing = operator.get(address("changelist")).content.decode()
    acted = operator.post(address("pause", NAME), follow=True).content.decode()

    assert_only_text(listing)
    assert_only_text(acted)
    assert_only_text(operator.get("/admin/").content.decode())


def test_hostile_query_strings_are_only_text(queue: Queue, operator: Client) -> None:
    for query in ({"since": EVIL}, {"order": EVIL}):
        page = operator.get(address("set", "default", "pending"), query).content.decode()
        assert_only_text(page)
    assert_only_text(operator.get(address("find", "default"), {"id": EVIL}).content.decode())
    after = operator.get(address("set", "default", "pending"), {"after": EVIL}).content.decode()
    assert EVIL not in after


def test_characters_that_turn_text_around_are_made_visible(queue: Queue, operator: Client) -> None:
    job_id = queue.enqueue_new('{"task": "a\u202eb", "args": ["\u2066"]}'.encode())

    page = operator.get(address("job", "default", job_id)).content.decode()

    assert "\u202e" not in page
    assert "a\\u202eb" in page
    assert "\u2066" not in page
