from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from echomq_app.protocol.calls import Retention
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.payload import TaskPayload, encode
from echomq_app.service.queue import Queue
from tests.django.admin.jobs import MINUTE, address, done, failed, running, scheduled, waiting
from tests.eventually import eventually
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

HUGE = 2**64 + 1


def context_of(client: Client, job_id: str, status: int = 200) -> Any:
    page = client.get(address("job", "default", job_id))
    assert page.status_code == status
    return page.context


def facts_of(client: Client, job_id: str) -> dict[str, str]:
    return {fact.label: fact.text for fact in context_of(client, job_id)["facts"]}


def text_of(client: Client, job_id: str) -> str:
    return client.get(address("job", "default", job_id)).content.decode()


def test_a_waiting_job_waits_for_the_next_free_worker(queue: Queue, viewer: Client) -> None:
    job_id = waiting(queue)

    assert "next free worker takes it" in context_of(viewer, job_id)["outlook"]

    queue.pause()

    assert "The queue is paused" in context_of(viewer, job_id)["outlook"]


def test_a_running_job_tells_who_holds_it_and_for_how_long(queue: Queue, viewer: Client) -> None:
    held = running(queue, label="host:1:0")

    assert "Its lease ends in 5" in context_of(viewer, held.job_id)["outlook"]
    facts = facts_of(viewer, held.job_id)
    assert facts["Claimed by"] == "host:1:0"
    assert facts["Token"] == "1"
    assert {"Minted", "Claimed at", "Lease ends"} <= set(facts)


def test_a_running_job_whose_lease_is_over_will_be_given_back(queue: Queue, viewer: Client) -> None:
    held = running(queue, lease=timedelta(milliseconds=1))

    eventually(lambda: "Its lease ended 0 s ago" in context_of(viewer, held.job_id)["outlook"])


def test_a_scheduled_job_tells_when_it_runs(queue: Queue, viewer: Client) -> None:
    job_id = scheduled(queue, timedelta(hours=2))

    assert "in 1 h 59 min, and then joins" in context_of(viewer, job_id)["outlook"]


def test_a_scheduled_job_that_is_due_waits_for_a_beat(queue: Queue, viewer: Client) -> None:
    job_id = scheduled(queue, timedelta(0))

    eventually(lambda: "It has been due for" in context_of(viewer, job_id)["outlook"])


def test_a_dead_job_stays_and_shows_its_errors(queue: Queue, viewer: Client) -> None:
    report = {
        "at": 1_764_000_000_000,
        "attempt": 3,
        "token": 3,
        "worker": "host:1:0",
        "exception": "builtins.ValueError",
        "error": "ValueError: broken\nmore",
        "traceback": "Traceback (most recent call last):\n  File …",
    }
    job_id = failed(queue, report=report)

    context = context_of(viewer, job_id)
    assert "stays here until somebody" in context["outlook"]
    (shown,) = context["errors"]
    assert (shown.title, shown.attempt, shown.worker) == ("ValueError: broken", "3", "host:1:0")
    assert shown.traceback.startswith("Traceback (most recent call last):\n  File")
    assert shown.at.timestamp() == 1_764_000_000


@pytest.mark.parametrize(
    "report",
    [b"not json", b"[1, 2]", b"null", b"\xff\xfe", {"at": "x", "error": 5, "traceback": None}, {}],
)
def test_an_error_report_of_any_form_is_shown(report: Any, queue: Queue, viewer: Client) -> None:
    job_id = failed(queue, report=report)

    (shown,) = context_of(viewer, job_id)["errors"]

    assert shown.title


def test_without_a_report_the_last_error_is_shown(queue: Queue, viewer: Client) -> None:
    job_id = failed(queue, "OSError: gone")

    (shown,) = context_of(viewer, job_id)["errors"]

    assert shown.title == "OSError: gone"


def test_a_done_job_shows_its_outcome_and_how_long_it_is_kept(queue: Queue, viewer: Client) -> None:
    ended = {
        "status": "successful",
        "task": "shop.tasks.send_receipt",
        "args": [1],
        "kwargs": {"token": "hunter2"},
        "value": {"sent": True},
        "worker": "host:1:0",
        "claimed_at": 1_764_000_000_000,
        "finished_at": "2025-11-24T16:00:05Z",
    }
    job_id = done(queue, ended)

    context = context_of(viewer, job_id)
    assert "Its outcome is kept until 20" in context["outlook"]
    assert context["task"] == "shop.tasks.send_receipt"
    facts = {fact.label: fact.text for fact in context["outcome"].facts}
    assert facts["Status"] == "successful"
    assert {"Claimed", "Finished", "Worker"} <= set(facts)
    text = text_of(viewer, job_id)
    assert "&quot;sent&quot;: true" in text
    assert "hunter2" not in text


@pytest.mark.parametrize("outcome", [b"not json", b"[]", b"{}", b"\xff", {"finished_at": [1]}])
def test_an_outcome_of_any_form_is_shown(outcome: Any, queue: Queue, viewer: Client) -> None:
    job_id = done(queue, outcome)

    assert context_of(viewer, job_id)["outcome"] is not None


def test_a_job_that_left_a_receipt_alone_tells_who_ended_it(queue: Queue, viewer: Client) -> None:
    held = running(queue, label="host:1:0")
    queue.complete(held, Retention(mark="m", receipt_ms=60_000))

    assert "its outcome was not kept" in context_of(viewer, held.job_id)["outlook"]
    assert facts_of(viewer, held.job_id)["Ended by"] == "host:1:0"


def test_a_job_of_which_nothing_is_known_is_not_found(queue: Queue, viewer: Client) -> None:
    context = context_of(viewer, Minter().mint(), status=404)

    assert "Nothing is known of it" in context["outlook"]


def test_a_row_that_no_set_holds_is_told(queue: Queue, server: Server, viewer: Client) -> None:
    job_id = waiting(queue)
    server.ask("ZREM", "emq:{default}:pending", job_id)

    assert "no set holds it" in context_of(viewer, job_id)["outlook"]


@pytest.mark.parametrize("job_id", ["nonsense", "JOB", "JOBzzzzzzzzzzz", "%00", "🚚", "x" * 500])
def test_a_malformed_id_is_not_found_and_says_what_an_id_is(
    job_id: str, queue: Queue, viewer: Client
) -> None:
    for page in (
        viewer.get(address("job", "default", job_id)),
        viewer.get(address("find", "default"), {"id": job_id}),
    ):
        assert page.status_code == 404
        assert "is not a job id" in page.content.decode()
        assert "a job id is 14 ASCII characters" in page.content.decode()


def test_a_job_is_found_by_its_id(queue: Queue, viewer: Client) -> None:
    job_id = waiting(queue)

    found = viewer.get(address("find", "default"), {"id": f" {job_id} "})

    assert found["Location"] == address("job", "default", job_id)


def test_arguments_are_pretty_exact_and_without_secrets(queue: Queue, viewer: Client) -> None:
    job_id = waiting(queue, order=HUGE, name="Zoë", auth={"api_key": "hunter2", "user": "eve"})

    text = text_of(viewer, job_id)

    assert f"&quot;order&quot;: {HUGE}" in text
    assert "Zoë" in text
    assert "eve" not in text
    assert "hunter2" not in text
    assert "(hidden)" in text


def test_numbers_in_a_row_that_fit_no_clock_are_shown_as_they_are(
    queue: Queue, server: Server, viewer: Client
) -> None:
    job_id = waiting(queue)
    row = f"emq:{{default}}:job:{job_id}"
    server.ask("HSET", row, "claimed_at", "9" * 40, "excused", "x", "lapses", "-3", "extra", "y")
    server.ask("ZREM", "emq:{default}:pending", job_id)
    server.ask("ZADD", "emq:{default}:schedule", "1e17", job_id)

    context = context_of(viewer, job_id)

    assert [block.label for block in context["other_fields"]] == ["extra"]
    assert viewer.get(address("set", "default", "schedule")).status_code == 200


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"plain words",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"task": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"task": 5}',
        b'"text"',
        b'{"n": ' + b"9" * 5000 + b"}",
        b'{"x": "\\ud800"}',
        b'{"x": 1e999}',
    ],
)
def test_a_payload_of_any_bytes_is_shown(payload: bytes, queue: Queue, viewer: Client) -> None:
    job_id = queue.enqueue_new(payload)

    assert context_of(viewer, job_id)["payload"]
    assert viewer.get(address("set", "default", "pending")).status_code == 200


def test_a_large_payload_is_cut_and_says_so(queue: Queue, viewer: Client) -> None:
    job_id = queue.enqueue_new(json.dumps({"args": ["x" * 300_000]}).encode())

    page = text_of(viewer, job_id)

    assert len(page) < 150_000
    assert "only its beginning is shown" in page


def test_logs_and_progress_are_shown(queue: Queue, viewer: Client) -> None:
    job_id = waiting(queue)
    queue.add_log(job_id, "half way")
    queue.progress(job_id, "50 %")

    assert context_of(viewer, job_id)["logs"] == ["half way"]
    assert facts_of(viewer, job_id)["Progress"] == "50 %"


def test_attempts_that_do_not_count_are_told_apart(queue: Queue, viewer: Client) -> None:
    queue.enqueue_new(encode(TaskPayload(task="t", max_attempts=4)))
    (held,) = queue.claim_many(MINUTE, 1, "a")
    queue.release(held)
    (held,) = queue.claim_many(MINUTE, 1, "b")

    facts = facts_of(viewer, held.job_id)

    assert facts["Attempts"] == "1 of 4, and 1 that do not count"
    assert facts["Token"] == "2"


@pytest.mark.parametrize(
    ("make", "buttons"),
    [(waiting, {"remove"}), (failed, {"remove", "requeue"}), (scheduled, {"remove"})],
)
def test_a_page_offers_what_its_state_allows(
    make: Any, buttons: set[str], queue: Queue, operator: Client
) -> None:
    job_id = make(queue)

    assert offered(operator, job_id) == buttons


def test_a_running_job_can_neither_be_removed_nor_requeued(queue: Queue, operator: Client) -> None:
    held = running(queue)

    assert offered(operator, held.job_id) == set()
    assert "cannot be removed while a worker holds it" in text_of(operator, held.job_id)


def test_without_a_server_a_job_page_says_where_it_looked(
    settings: Settings, viewer: Client
) -> None:
    settings.ECHOMQ = {"CONNECTION": "redis://:hunter2@127.0.0.1:1/0", "PATIENCE": 0.05}

    text = text_of(viewer, Minter().mint())

    assert "127.0.0.1:1/0 does not answer" in text
    assert "hunter2" not in text


def offered(client: Client, job_id: str) -> set[str]:
    text = text_of(client, job_id)
    return {act for act in ("requeue", "remove") if address(act, "default", job_id) in text}
