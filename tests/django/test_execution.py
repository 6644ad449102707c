from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections

from echomq_app.backend import EchoMQBackend
from echomq_app.backend.execution import TaskRunner
from echomq_app.compat import TaskResultStatus, task_finished, task_started
from echomq_app.conf import Settings
from echomq_app.protocol.payload import TaskPayload, encode
from echomq_app.protocol.states import State
from echomq_app.service.queue import Queue
from tests.django.conftest import IMMEDIATE
from tests.django.work import work
from tests.eventually import eventually

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings as DjangoSettings

TASKS = "tests.django.site.tasks"
DEEP = 300


@pytest.fixture
def told() -> Iterator[list[tuple[Any, ...]]]:
    """What the signals around a task told: which, by whom, of which job, and its status then."""
    heard: list[tuple[Any, ...]] = []

    def started(sender: Any, task_result: Any, **_: Any) -> None:
        heard.append(("started", sender, task_result.id, task_result.status))

    def finished(sender: Any, task_result: Any, **_: Any) -> None:
        heard.append(("finished", sender, task_result.id, task_result.status))

    task_started.connect(started)
    task_finished.connect(finished)
    yield heard
    task_started.disconnect(started)
    task_finished.disconnect(finished)


@pytest.fixture
def last_try(site: Any, settings: DjangoSettings) -> None:
    """A job that fails once is dead."""
    settings.ECHOMQ = {**settings.ECHOMQ, "MAX_ATTEMPTS": 1}


def why_dead(queue: Queue, job_id: str) -> str:
    """The last error of a job that is dead."""
    assert queue.state(job_id) is State.DEAD
    fields = queue.job(job_id).fields
    assert fields is not None
    return fields["last_error"].decode()


def test_an_async_task_is_awaited(site: Any, run: Any) -> None:
    assert run(site.add_later.enqueue(1, 2)).return_value == 3


def test_a_task_that_takes_a_context_can_look_around(site: Any, run: Any, queue: Queue) -> None:
    result = site.tell.enqueue("hello")

    value = run(result).return_value

    (label,) = value.pop("workers")
    assert label
    assert value == {
        "attempt": 1,
        "job_id": result.id,
        "lease_lost": False,
        "waited": False,
        "status": TaskResultStatus.RUNNING,
        "args": ["hello"],
        "queue": "default",
    }


def test_progress_and_log_are_seen_while_the_task_runs(site: Any, queue: Queue) -> None:
    result = site.report_and_hold.enqueue("half \ud7ff", "one line")
    worker = threading.Thread(target=work)
    worker.start()
    try:
        eventually(lambda: "holding" in site.seen)
        job = queue.job(result.id)
        assert job.fields is not None
        assert job.fields["progress"].decode() == "half \ud7ff"
        assert queue.logs(result.id) == ["one line"]
    finally:
        site.go_on.set()
        worker.join()


def test_what_a_task_reports_is_bounded_and_fit_for_any_reader(
    site: Any, run: Any, queue: Queue, finish: Any
) -> None:
    site.go_on.set()
    result = site.report_and_hold.enqueue("?" + "x" * 100_000, "y" * 100_000 + "end")
    held: list[Any] = []

    def look(task_result: Any, **_: Any) -> None:
        held.append((queue.job(task_result.id).fields, queue.logs(task_result.id)))

    task_finished.connect(look)
    try:
        run(result)
    finally:
        task_finished.disconnect(look)

    ((fields, (line,)),) = held
    assert fields["progress"].startswith(b"?xxx")
    assert len(fields["progress"]) <= 8192
    assert len(line) <= 8192
    assert line.endswith("yend")


def test_a_task_hears_that_its_lease_is_lost_and_its_outcome_is_not_settled(
    site: Any, queue: Queue
) -> None:
    result = site.hold.enqueue()
    options = {"lease": timedelta(seconds=1), "beat": timedelta(seconds=0.05)}
    worker = threading.Thread(target=work, kwargs=options)
    worker.start()
    try:
        eventually(lambda: site.seen == ["holding"])
        assert queue.remove(result.id, force=True)
        eventually(lambda: "lost" in site.seen)
    finally:
        site.go_on.set()
        worker.join()

    assert queue.facts().counts.done == 0


def test_the_signals_tell_a_success_once(site: Any, told: list[Any]) -> None:
    result = site.add.enqueue(1)
    work()

    assert told == [
        ("started", EchoMQBackend, result.id, TaskResultStatus.RUNNING),
        ("finished", EchoMQBackend, result.id, TaskResultStatus.SUCCESSFUL),
    ]


def test_the_signals_tell_a_failure_when_it_is_final(
    site: Any, told: list[Any], finish: Any, settings: DjangoSettings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "MAX_ATTEMPTS": 2, "BACKOFF_BASE": 0.001}
    result = finish(site.fail.enqueue())

    assert told == [
        ("started", EchoMQBackend, result.id, TaskResultStatus.RUNNING),
        ("started", EchoMQBackend, result.id, TaskResultStatus.RUNNING),
        ("finished", EchoMQBackend, result.id, TaskResultStatus.FAILED),
    ]


def test_the_signals_come_from_the_backend_that_serves_the_queue(
    site: Any, told: list[Any], settings: DjangoSettings
) -> None:
    settings.TASKS = {
        "default": {"BACKEND": IMMEDIATE},
        "queue": {"BACKEND": settings.TASKS["default"]["BACKEND"], "QUEUES": ["mail"]},
    }
    site.add.using(backend="queue", queue_name="mail").enqueue(1)
    work("mail")

    assert [sender for _, sender, _, _ in told] == [EchoMQBackend, EchoMQBackend]


def test_the_signals_come_from_the_backend_that_the_task_names(
    site: Any, told: list[Any], settings: DjangoSettings
) -> None:
    settings.TASKS = {
        "other": settings.TASKS["default"],
        "default": {"BACKEND": "tests.django.site.backends.OwnBackend"},
    }
    site.add.enqueue(1)
    work()

    assert [sender.__name__ for _, sender, _, _ in told] == ["OwnBackend", "OwnBackend"]


def test_a_receiver_that_raises_harms_no_job(site: Any, run: Any) -> None:
    def trip(**_: Any) -> None:
        raise ZeroDivisionError

    task_started.connect(trip)
    task_finished.connect(trip)
    try:
        assert run(site.add.enqueue(1)).return_value == 2
    finally:
        task_started.disconnect(trip)
        task_finished.disconnect(trip)


@pytest.mark.django_db(transaction=True)
def test_database_connections_are_looked_after_between_jobs(site: Any, run: Any) -> None:
    first, second = site.break_connection.enqueue(), site.break_connection.enqueue()
    work()

    assert [run(one).return_value for one in (first, second)] == [False, False]


@pytest.mark.django_db(transaction=True)
def test_a_job_leaves_its_thread_s_connection_in_order(site: Any, queue: Queue, hold: Any) -> None:
    site.break_connection.enqueue()
    here = connections["default"]

    TaskRunner(Settings())(hold(queue))

    assert not here.errors_occurred


@pytest.mark.usefixtures("last_try")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fail", "tests.django.site.tasks.Declined: no"),
        ("fail_unprintably", "tests.django.site.tasks.Unprintable: <exception str() failed>"),
        ("leave", "SystemExit: 3"),
        ("give_up_later", "SystemExit: enough"),
        ("recurse", "RecursionError: maximum recursion depth exceeded"),
        ("interrupt", "KeyboardInterrupt"),
        ("fail_in_a_group", "ExceptionGroup: both (2 sub-exceptions)"),
    ],
)
def test_whatever_a_task_raises_is_its_failure(
    site: Any, run: Any, queue: Queue, name: str, words: str
) -> None:
    result = run(getattr(site, name).enqueue())

    assert result.status == TaskResultStatus.FAILED
    assert why_dead(queue, result.id).startswith(words)
    (error,) = result.errors
    assert issubclass(error.exception_class, BaseException)
    assert error.traceback.startswith("Traceback (most recent call last):") or name == (
        "fail_in_a_group"
    )
    assert run(site.add.enqueue(1)).return_value == 2


@pytest.mark.usefixtures("last_try")
def test_an_error_of_any_size_and_text_is_kept_head_and_tail(
    site: Any, run: Any, queue: Queue
) -> None:
    result = run(site.fail.enqueue("begin \x00 ж" + "x" * 100_000 + "end"))

    error = why_dead(queue, result.id)
    assert len(error.encode()) <= 8192
    assert error.startswith("tests.django.site.tasks.Declined: begin \x00 ж")
    assert error.endswith("xend")
    assert len(result.errors[0].traceback.encode()) <= 8192
    assert result.errors[0].traceback.endswith("xend\n")


@pytest.mark.usefixtures("last_try")
def test_text_that_utf8_cannot_hold_is_marked_in_an_error(
    site: Any, run: Any, queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("django.tasks", "django_tasks"):
        caplog.set_level(logging.CRITICAL, name)

    result = run(site.fail_with_surrogate.enqueue())

    assert why_dead(queue, result.id) == "tests.django.site.tasks.Declined: half ? a pair"


@pytest.mark.parametrize("what", ["set", "decimal", "not a number", "key", "bytes", "itself"])
def test_a_value_that_is_no_json_is_dead_with_the_reason_and_not_run_again(
    site: Any, run: Any, queue: Queue, what: str
) -> None:
    result = run(site.give.enqueue(what))

    assert result.status == TaskResultStatus.FAILED
    assert f"{TASKS}.give returned what JSON cannot hold (" in why_dead(queue, result.id)
    assert "it has run and is not run again" in why_dead(queue, result.id)
    assert site.seen == [what]


def test_a_value_with_text_that_utf8_cannot_hold_comes_back(site: Any, run: Any) -> None:
    assert run(site.surrogate.enqueue()).return_value == "\ud800"


@pytest.mark.parametrize("depth", [50, DEEP, 5_000, 100_000])
def test_a_deeply_nested_value_is_kept_or_refused_and_harms_no_worker(
    site: Any, run: Any, queue: Queue, depth: int
) -> None:
    job = site.nested.enqueue(depth)
    work()

    assert site.seen == [depth]
    assert queue.state(job.id) in (State.DONE, State.DEAD)
    assert run(site.add.enqueue(1)).return_value == 2


@pytest.mark.parametrize("depth", [50, DEEP, 900, 100_000])
def test_a_deeply_nested_argument_is_passed_or_refused_and_harms_no_worker(
    site: Any, run: Any, queue: Queue, depth: int
) -> None:
    raw = b'{"task":"%s.echo","max_attempts":1,"args":[%s%s]}'
    job_id = queue.enqueue_new(raw % (TASKS.encode(), b"[" * depth, b"]" * depth))
    work()

    assert queue.state(job_id) in (State.DONE, State.DEAD)
    assert run(site.add.enqueue(1)).return_value == 2


def test_a_job_that_expired_is_not_run(site: Any, queue: Queue) -> None:
    soon, late = int(time.time() * 1000) - 1, int(time.time() * 1000) + 60_000
    for name, expires_at in ((1, soon), (2, late)):
        queue.enqueue_new(
            encode(TaskPayload(task=f"{TASKS}.add", args=[name], expires_at=expires_at))
        )
    work()

    assert site.seen == [(2, 1)]
    assert queue.facts().counts.done == 2


@pytest.mark.parametrize(
    ("wanted", "tries"), [(None, 4), (1, 1), (3, 3), (0, 1), (-5, 1), (10**30, 7)]
)
def test_a_payload_may_say_how_often_it_is_tried(
    site: Any, queue: Queue, settings: DjangoSettings, wanted: int | None, tries: int
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "MAX_ATTEMPTS": 4, "BACKOFF_BASE": 0.001}
    raw = encode(TaskPayload(task=f"{TASKS}.fail", max_attempts=wanted))
    job_id = queue.enqueue_new(raw)

    def ended() -> bool:
        work()
        return queue.state(job_id) is State.DEAD or len(site.seen) >= 7

    eventually(ended)

    assert len(site.seen) == tries


def test_the_pause_before_a_retry_doubles_up_to_its_cap() -> None:
    runner = TaskRunner(
        Settings(backoff_base=timedelta(seconds=2), backoff_cap=timedelta(minutes=1))
    )

    for attempt, longest in ((1, 2), (2, 4), (3, 8), (5, 32), (6, 60), (40, 60), (10_000, 60)):
        pauses = [runner.backoff(attempt).total_seconds() for _ in range(200)]
        assert longest / 2 <= min(pauses)
        assert max(pauses) <= longest
        assert max(pauses) - min(pauses) > longest / 4


def test_the_longest_backoff_of_the_settings_can_be_counted() -> None:
    span = timedelta(days=3650)
    runner = TaskRunner(Settings(backoff_base=span, backoff_cap=span))

    assert span / 2 <= runner.backoff(1_000_000) <= span
