from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from echomq_app.compat import InvalidTask, TaskResultStatus, task, task_backends
from echomq_app.connections import forget, minter, queue_named
from echomq_app.protocol.errors import IdCollision, InvalidPayload, PayloadTooLarge
from echomq_app.protocol.ids import JobId, is_branded, minted_ms
from echomq_app.protocol.states import JobSet, State
from echomq_app.service.queue import Queue
from echomq_app.service.records import PageRequest
from tests.django.conftest import BACKEND
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings


def body(queue: Queue, job_id: str) -> Any:
    """The payload of a job that lives."""
    fields = queue.job(job_id).fields
    assert fields is not None
    return json.loads(fields["payload"])


def test_the_payload_is_the_protocols_json(site: Any, queue: Queue) -> None:
    result = site.echo.enqueue(1, "two", [3], four={"five": None})

    told = body(queue, result.id)

    nonce = told.pop("meta").pop("nonce")
    assert told == {
        "task": "tests.django.site.tasks.echo",
        "args": [1, "two", [3]],
        "kwargs": {"four": {"five": None}},
        "v": 1,
    }
    assert len(nonce) == 12


def test_the_row_has_three_fields(site: Any, queue: Queue) -> None:
    fields = queue.job(site.add.enqueue(1).id).fields

    assert fields is not None
    assert set(fields) == {"state", "attempts", "payload"}


def test_the_result_says_what_was_enqueued(site: Any) -> None:
    result = site.add.using(queue_name="mail").enqueue(1, right=2)

    assert is_branded(result.id)
    assert result.status == TaskResultStatus.READY
    assert result.enqueued_at == datetime.fromtimestamp(minted_ms(result.id) / 1000, UTC)
    assert (result.started_at, result.finished_at, result.last_attempted_at) == (None, None, None)
    assert (result.args, result.kwargs) == ([1], {"right": 2})
    assert (result.errors, result.worker_ids, result.attempts) == ([], [], 0)
    assert result.backend == "default"
    assert result.task.queue_name == "mail"
    assert not result.is_finished
    with pytest.raises(ValueError, match="not finished"):
        _ = result.return_value


def test_without_time_zones_a_result_has_local_times(site: Any, settings: Settings) -> None:
    settings.USE_TZ = False
    settings.TIME_ZONE = "Asia/Tokyo"

    result = site.add.enqueue(1)
    again = task_backends["default"].get_result(result.id)

    tokyo = datetime.fromtimestamp(minted_ms(result.id) / 1000, UTC) + timedelta(hours=9)
    assert result.enqueued_at == again.enqueued_at == tokyo.replace(tzinfo=None)


def test_the_id_is_there_before_any_round_trip(
    site: Any, behind_proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    mint = minter().mint

    def look() -> JobId:
        seen.append(behind_proxy.round_trips)
        return mint()

    monkeypatch.setattr(minter(), "mint", look)

    site.add.enqueue(1)

    assert seen == [0]
    assert behind_proxy.round_trips == 1
    assert [words[0] for words in behind_proxy.commands] == [b"EVALSHA"]


def test_the_flags_say_what_the_backend_can(backend: Any) -> None:
    assert backend.supports_defer
    assert backend.supports_async_task
    assert backend.supports_get_result
    assert not backend.supports_priority


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"priority": 5}, "does not support setting priority"),
        ({"queue_name": "unheard"}, "Queue 'unheard' is not valid for backend"),
        ({"run_after": datetime(2030, 1, 1)}, "run_after must be an aware datetime"),
    ],
)
def test_what_the_backend_cannot_do_is_refused(
    site: Any, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidTask, match=sentence):
        site.add.using(**changes)


def test_a_queue_that_cannot_be_is_refused_before_anything_is_sent(
    site: Any, settings: Settings
) -> None:
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": []}}

    with pytest.raises(InvalidTask, match="a queue name holds no"):
        site.add.using(queue_name="a{b}")
    with pytest.raises(InvalidTask, match="the queue name 'emq' is the protocol's own"):
        site.add.using(queue_name="emq")


def test_a_function_in_a_function_is_no_task(site: Any) -> None:
    def inner() -> None:
        return

    with pytest.raises(InvalidTask, match="module level"):
        task(inner)


@pytest.mark.parametrize(
    ("value", "error", "sentence"),
    [
        (object(), TypeError, "Unsupported type"),
        ({1, 2}, TypeError, "Unsupported type"),
        (datetime(2030, 1, 1, tzinfo=UTC), TypeError, "Unsupported type"),
        (b"\xff", ValueError, "Unsupported value"),
        (
            float("nan"),
            InvalidPayload,
            "the arguments of tests.django.site.tasks.echo are not JSON",
        ),
        (float("inf"), InvalidPayload, "are not JSON"),
        ("\ud800", InvalidPayload, "are not JSON"),
    ],
)
@pytest.mark.django_db
def test_arguments_that_are_no_json_are_refused_at_once(
    site: Any, queue: Queue, value: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        site.echo.enqueue(value)
    with pytest.raises(error, match=sentence):
        site.echo.enqueue(key=value)

    assert queue.pending_size() == 0


@pytest.mark.django_db
def test_a_payload_over_the_limit_is_refused_at_once(
    site: Any, queue: Queue, settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "MAX_PAYLOAD_BYTES": 200}

    with pytest.raises(PayloadTooLarge, match=r"bytes and the limit is 200: store the data and"):
        site.echo.enqueue("x" * 200)

    site.echo.enqueue("x" * 20)


@pytest.mark.django_db
@pytest.mark.usefixtures("in_production")
def test_a_site_without_a_connection_is_told_before_the_commit(
    site: Any, settings: Settings
) -> None:
    settings.ECHOMQ = {}

    with pytest.raises(ImproperlyConfigured, match="CONNECTION"):
        site.add.enqueue(1)


def run_at(queue: Queue, job_id: str) -> int | None:
    assert queue.state(job_id) is State.SCHEDULED
    return queue.job(job_id).run_at_ms


def test_a_job_for_later_is_scheduled(site: Any, queue: Queue) -> None:
    later = datetime(2040, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)

    result = site.add.using(run_after=later).enqueue(1)

    assert run_at(queue, result.id) == int(later.timestamp() * 1000)
    assert result.status == TaskResultStatus.READY
    assert task_backends["default"].get_result(result.id).task.run_after == later


def test_a_naive_instant_is_local_where_there_are_no_time_zones(
    site: Any, queue: Queue, settings: Settings
) -> None:
    settings.USE_TZ = False
    settings.TIME_ZONE = "Asia/Tokyo"
    later = datetime(2040, 1, 2, 12)

    result = site.add.using(run_after=later).enqueue(1)

    assert run_at(queue, result.id) == int(datetime(2040, 1, 2, 3, tzinfo=UTC).timestamp() * 1000)
    assert task_backends["default"].get_result(result.id).task.run_after == later


@pytest.mark.parametrize("year", [2000, 1960])
def test_a_job_for_an_instant_gone_by_runs_at_once(site: Any, run: Any, year: int) -> None:
    result = site.add.using(run_after=datetime(year, 1, 1, tzinfo=UTC)).enqueue(1)

    assert run(result).return_value == 2


def test_an_id_that_is_anothers_is_minted_again(
    site: Any, queue: Queue, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = site.add.enqueue(1)
    taken = iter([first.id, first.id])
    mint = minter().mint
    monkeypatch.setattr(minter(), "mint", lambda: next(taken, None) or mint())

    second = site.add.enqueue(2)

    assert second.id != first.id
    assert body(queue, first.id)["args"] == [1]
    assert body(queue, second.id)["args"] == [2]


def test_two_processes_on_one_node_in_one_millisecond_lose_no_job(
    site: Any, queue: Queue, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "NODE_ID": 7}
    results: list[Any] = []
    for _ in range(3):
        forget()
        ours = minter()
        monkeypatch.setattr(ours, "_clock", lambda: 1_900_000_000.0)
        monkeypatch.setattr(ours, "_spread", 0)
        results.append(site.add.enqueue(len(results)))

    assert len({result.id for result in results}) == 3
    assert [body(queue, result.id)["args"] for result in results] == [[0], [1], [2]]


def test_ids_that_are_all_taken_end_in_an_error(
    site: Any, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = site.add.enqueue(1)
    monkeypatch.setattr(minter(), "mint", lambda: first.id)

    with pytest.raises(IdCollision, match=f"{first.id} already names another job"):
        site.add.enqueue(2)

    assert queue.pending_size() == 1


def test_jobs_of_one_process_wait_in_the_order_of_their_enqueueing(site: Any, queue: Queue) -> None:
    ids = [site.add.enqueue(number).id for number in range(20)]

    page = queue.page(PageRequest(which=JobSet.PENDING))

    assert [job.job_id for job in page.jobs] == ids


def test_a_first_job_lists_its_queue(site: Any, engine_server: Server) -> None:
    site.add.using(queue_name="mail").enqueue(1)

    assert queue_named("mail").pending_size() == 1
    assert engine_server.ask("SISMEMBER", "{emq}:queues", "mail") == 1


def test_a_receiver_that_raises_stops_no_enqueueing(site: Any, queue: Queue) -> None:
    from echomq_app.compat import task_enqueued

    def trip(**_: Any) -> None:
        raise ZeroDivisionError

    task_enqueued.connect(trip)
    try:
        result = site.add.enqueue(1)
    finally:
        task_enqueued.disconnect(trip)

    assert queue.state(result.id) is State.PENDING


def test_enqueueing_is_told_once_by_the_backend(site: Any, enqueued: list[str]) -> None:
    from echomq_app.backend import EchoMQBackend
    from echomq_app.compat import task_enqueued

    senders: list[Any] = []

    def hear(sender: Any, **_: Any) -> None:
        senders.append(sender)

    task_enqueued.connect(hear)
    try:
        result = site.add.enqueue(1)
    finally:
        task_enqueued.disconnect(hear)

    assert enqueued == [result.id]
    assert senders == [EchoMQBackend]
