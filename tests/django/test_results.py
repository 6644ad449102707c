from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from echomq_app.compat import (
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_backends,
)
from echomq_app.connections import queue_named
from echomq_app.protocol.errors import EchoMQError
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.payload import TaskPayload, encode
from echomq_app.service.queue import Queue
from echomq_app.service.records import Lease
from tests.django.conftest import BACKEND, IMMEDIATE
from tests.django.work import work
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

MINUTE = timedelta(minutes=1)
READY, RUNNING = TaskResultStatus.READY, TaskResultStatus.RUNNING
FAILED, SUCCESSFUL = TaskResultStatus.FAILED, TaskResultStatus.SUCCESSFUL


def get(job_id: str) -> Any:
    return task_backends["default"].get_result(job_id)


def claim(queue: Queue, label: str = "host:1:0") -> Lease:
    """Hold the only job that waits."""
    (held,) = queue.claim_many(MINUTE, 1, label)
    return held


def test_a_waiting_job_is_ready(site: Any) -> None:
    result = site.add.enqueue(1, right=2)

    assert get(result.id) == result
    assert get(result.id).status == READY


def test_a_job_for_later_is_ready_and_says_when(site: Any) -> None:
    later = datetime(2040, 1, 1, tzinfo=UTC)

    found = get(site.add.using(run_after=later).enqueue(1).id)

    assert (found.status, found.task.run_after) == (READY, later)


def test_a_claimed_job_is_running(site: Any, queue: Queue) -> None:
    result = site.add.enqueue(1)
    begun = datetime.now(UTC) - timedelta(seconds=1)
    claim(queue)

    result.refresh()

    assert result.status == RUNNING
    assert begun < result.started_at == result.last_attempted_at < begun + MINUTE
    assert result.worker_ids == ["host:1:0"]
    assert (result.attempts, result.errors, result.finished_at) == (1, [], None)
    with pytest.raises(ValueError, match="not finished"):
        _ = result.return_value


def test_a_job_that_failed_and_will_be_tried_again_is_ready_with_its_error(
    site: Any, queue: Queue, settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "BACKOFF_BASE": 60, "BACKOFF_CAP": 60}
    result = site.fail.enqueue("no luck")
    work()

    result.refresh()

    assert result.status == READY
    assert result.attempts == len(result.errors) == 1
    (error,) = result.errors
    assert error.exception_class is site.Declined
    assert error.traceback.startswith("Traceback (most recent call last):")
    assert error.traceback.endswith("tests.django.site.tasks.Declined: no luck\n")
    assert get(result.id).task.run_after > datetime.now(UTC) + timedelta(seconds=20)
    assert not result.is_finished


def test_a_dead_job_has_failed_with_every_traceback(
    site: Any, finish: Any, settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "MAX_ATTEMPTS": 3, "BACKOFF_BASE": 0.001}

    result = finish(site.fail.enqueue("no"))

    assert result.status == FAILED
    assert result.is_finished
    assert (len(result.errors), result.attempts) == (3, 3)
    assert all(name.startswith(f"{name.split(':')[0]}:") for name in result.worker_ids)
    assert result.finished_at >= result.last_attempted_at
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value


def test_a_done_job_is_successful_with_its_value(site: Any, run: Any) -> None:
    result = run(site.echo.enqueue(1, [None, {"a": 0.5}], word="ж"))

    assert result.status == SUCCESSFUL
    assert result.return_value == [[1, [None, {"a": 0.5}]], {"word": "ж"}]
    assert (result.args, result.kwargs) == ([1, [None, {"a": 0.5}]], {"word": "ж"})
    assert result.started_at <= result.finished_at
    assert (result.attempts, len(result.worker_ids)) == (1, 1)
    assert result.enqueued_at <= result.started_at


def test_a_job_that_succeeded_late_tells_how_often_it_was_tried(
    site: Any, finish: Any, settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "BACKOFF_BASE": 0.001}

    result = finish(site.third_time.enqueue())

    assert (result.return_value, result.attempts) == (3, 3)
    assert result.worker_ids[:2] == ["", ""]
    assert result.worker_ids[2]


def test_big_numbers_and_odd_text_come_back_exact(site: Any, run: Any) -> None:
    value = [2**63, -(10**40), 0.1, "\x00", "\u2028", "😀", ""]

    result = run(site.echo.enqueue(*value))

    assert result.return_value == [value, {}]
    assert result.args == value


def test_refresh_brings_what_happened_since(site: Any, run: Any) -> None:
    result = site.add.enqueue(1)
    run(result)

    result.refresh()

    assert (result.status, result.return_value) == (SUCCESSFUL, 2)


def test_a_task_gets_its_own_results_only(site: Any) -> None:
    result = site.add.enqueue(1)

    assert site.add.get_result(result.id) == result
    with pytest.raises(Exception, match="Task does not match") as caught:
        site.echo.get_result(result.id)
    assert type(caught.value).__name__ == "TaskResultMismatch"


@pytest.mark.parametrize(
    "job_id",
    [
        "",
        "JOB",
        "JOB00000000000",
        "JOBzzzzzzzzzzz",
        "PRT00000000000",
        "JOB0000000000{",
        "x" * 99,
        5,
    ],
)
def test_an_id_that_names_nothing_has_no_result(site: Any, job_id: Any) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        get(job_id)


def test_an_ended_job_whose_result_is_not_kept_has_none(
    site: Any, queue: Queue, settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "RESULT_TTL": 0}
    result = site.add.enqueue(1)
    work()

    assert site.seen == [(1, 1)]
    with pytest.raises(TaskResultDoesNotExist):
        get(result.id)


def test_a_removed_job_has_no_result(site: Any, queue: Queue) -> None:
    result = site.add.enqueue(1)
    queue.remove(result.id, receipt_for=MINUTE)

    with pytest.raises(TaskResultDoesNotExist):
        get(result.id)


def test_a_result_lasts_as_long_as_the_setting_says(
    site: Any, run: Any, queue: Queue, settings: Settings, engine_server: Server
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "RESULT_TTL": 900}

    result = run(site.add.enqueue(1))

    left_ms = engine_server.ask("PTTL", queue.keys.result(result.id))
    assert 850_000 < left_ms <= 900_000 + 120_000


def test_a_result_is_found_on_any_queue_of_the_backend(site: Any, run: Any) -> None:
    result = run(site.add.using(queue_name="mail").enqueue(1), "mail")

    assert (result.return_value, result.task.queue_name) == (2, "mail")


def test_a_backend_without_queues_finds_results_on_those_in_use(
    site: Any, settings: Settings
) -> None:
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": []}}

    result = site.add.using(queue_name="anything").enqueue(1)

    assert get(result.id).task.queue_name == "anything"


def test_a_result_is_found_through_an_alias_that_the_task_does_not_name(
    site: Any, settings: Settings
) -> None:
    settings.TASKS = {
        "default": {"BACKEND": IMMEDIATE},
        "queue": {"BACKEND": BACKEND, "QUEUES": ["elsewhere"]},
    }
    result = site.add.using(backend="queue", queue_name="elsewhere").enqueue(1)

    waiting = task_backends["queue"].get_result(result.id)
    work("elsewhere")
    done = task_backends["queue"].get_result(result.id)

    assert waiting == result
    for found in (waiting, done):
        place = found.backend, found.task.backend, found.task.queue_name
        assert place == ("queue", "queue", "elsewhere")
    result.refresh()
    assert result.return_value == 2


def test_a_task_that_is_gone_takes_its_results_along(site: Any, queue: Queue) -> None:
    job_id = queue.enqueue_new(encode(TaskPayload(task="tests.django.site.tasks.renamed")))

    with pytest.raises(TaskResultDoesNotExist):
        get(job_id)


@pytest.mark.parametrize("payload", [b"", b"\xff", b"[]", b'{"task":5}', b'{"args":[]}'])
def test_a_payload_that_is_no_task_has_no_result(site: Any, queue: Queue, payload: bytes) -> None:
    job_id = queue.enqueue_new(payload)

    with pytest.raises(TaskResultDoesNotExist):
        get(job_id)


def test_a_job_that_no_exception_ended_says_why_it_failed(site: Any, queue: Queue) -> None:
    result = site.add.enqueue(1)
    queue.retry(claim(queue), delay=timedelta(), max_attempts=0, error="its worker died 3 times")

    result.refresh()

    assert result.status == FAILED
    (error,) = result.errors
    assert (error.exception_class, error.traceback) == (EchoMQError, "its worker died 3 times")


def test_a_job_that_expired_has_failed(site: Any, queue: Queue) -> None:
    raw = encode(TaskPayload(task="tests.django.site.tasks.add", args=[1], expires_at=1))
    job_id = queue.enqueue_new(raw)
    work()

    result = get(job_id)

    assert result.status == FAILED
    assert [error.traceback for error in result.errors] == ["it ended as expired"]
    assert site.seen == []


@pytest.mark.parametrize(
    "outcome",
    [
        b"text",
        b"[]",
        b"{}",
        b'{"status":"successful","task":5,"args":[],"kwargs":{}}',
        b'{"status":"successful","task":"tests.django.site.tasks.add","args":5,"kwargs":{}}',
        b'{"status":"successful","task":"tests.django.site.tasks.add","args":[],"kwargs":[]}',
    ],
)
def test_an_outcome_that_is_not_ours_is_no_result(
    site: Any, run: Any, queue: Queue, engine_server: Server, outcome: bytes
) -> None:
    job_id = run(site.add.enqueue(1)).id
    key = queue.keys.result(job_id)
    line = engine_server.ask("GET", key).partition(b"\n")[0]
    engine_server.ask("SET", key, line + b"\n" + outcome, "KEEPTTL")

    with pytest.raises(TaskResultDoesNotExist):
        get(job_id)


def test_an_error_report_that_is_not_ours_is_left_out(
    site: Any, queue: Queue, engine_server: Server
) -> None:
    result = site.add.enqueue(1)
    for report in (b"text", b"[]", b'{"at":"noon"}', json.dumps({"exception": 5}).encode()):
        queue.retry(claim(queue), delay=timedelta(), max_attempts=99, error="no", report=report)
        queue.promote()

    result.refresh()

    assert (result.status, result.errors, result.attempts) == (READY, [], 4)


def test_a_job_claimed_by_a_foreign_worker_is_running(site: Any, queue: Queue) -> None:
    result = site.add.enqueue(1)
    queue.claim(MINUTE)

    result.refresh()

    assert (result.status, result.worker_ids) == (RUNNING, [""])


def test_a_row_with_a_broken_number_still_has_a_result(
    site: Any, queue: Queue, engine_server: Server
) -> None:
    result = site.add.enqueue(1)
    engine_server.ask("HSET", queue.keys.row(result.id), "claimed_at", "noon", "attempts", "many")

    assert get(result.id).status == READY


def test_results_of_many_queues_take_two_round_trips(site: Any, behind_proxy: Any) -> None:
    result = site.add.using(queue_name="mail").enqueue(1)
    behind_proxy.reset()

    get(result.id)

    assert behind_proxy.round_trips == 2
    assert JobId(result.id)
    assert queue_named("mail").pending_size() == 1
