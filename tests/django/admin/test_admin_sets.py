from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from django.test import Client

from echomq_app.protocol.ids import Minter, minted_ms
from echomq_app.service.queue import Queue
from tests.django.admin.jobs import MINUTE, address, done, failed, running, scheduled, waiting
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

SETS = ["pending", "active", "schedule", "dead", "done"]
CLOCKED = ["active", "schedule"]


def shown(client: Client, which: str, **query: str) -> list[str]:
    page = client.get(address("set", "default", which), query)
    assert page.status_code == 200
    return [row.job_id for row in page.context["content"].rows]


@pytest.mark.parametrize("which", SETS)
def test_an_empty_set_says_that_it_is_empty(which: str, queue: Queue, viewer: Client) -> None:
    page = viewer.get(address("set", "default", which))

    assert page.status_code == 200
    assert "emq-empty" in page.content.decode()
    assert "emq-table" not in page.content.decode()


def test_each_set_lists_its_own_jobs(queue: Queue, viewer: Client) -> None:
    dead = failed(queue)
    ended = done(queue, {"task": "shop.tasks.send_receipt", "value": 1})
    held = running(queue)
    later = scheduled(queue)
    first = waiting(queue)

    found = [shown(viewer, which) for which in SETS]

    assert found == [[first], [held.job_id], [later], [dead], [ended]]


def test_a_row_shows_task_attempts_times_worker_and_error(queue: Queue, viewer: Client) -> None:
    dead = failed(queue, "ValueError: first line\nsecond line")
    held = running(queue, label="worker-7:3")
    later = scheduled(queue, timedelta(minutes=10))

    (row,) = viewer.get(address("set", "default", "dead")).context["content"].rows
    assert (row.task, row.attempts) == ("shop.tasks.send_receipt", 1)
    assert row.error == "ValueError: first line"
    assert row.payload_bytes > 0
    assert minted_ms(dead) == int(row.minted_at.timestamp() * 1000)

    (row,) = viewer.get(address("set", "default", "active")).context["content"].rows
    assert (row.job_id, row.worker) == (held.job_id, "worker-7:3")
    assert 50 < row.in_s <= 60

    (row,) = viewer.get(address("set", "default", "schedule")).context["content"].rows
    assert row.job_id == later
    assert 590 < row.in_s <= 600
    assert "in 9 min 5" in viewer.get(address("set", "default", "schedule")).content.decode()


@pytest.mark.parametrize("which", SETS)
def test_mint_order_runs_both_ways(which: str, queue: Queue, viewer: Client) -> None:
    ids = fill(queue, which, 4)

    assert shown(viewer, which, order="oldest") == ids
    assert shown(viewer, which, order="newest") == ids[::-1]


@pytest.mark.parametrize("which", CLOCKED)
def test_time_order_runs_both_ways(which: str, queue: Queue, viewer: Client) -> None:
    ids = fill(queue, which, 4)
    by_time = ids[::-1] if which == "schedule" else ids

    assert shown(viewer, which, order="soonest") == by_time
    assert shown(viewer, which, order="latest") == by_time[::-1]


@pytest.mark.parametrize("order", ["oldest", "newest"])
@pytest.mark.parametrize("which", SETS)
def test_paging_shows_each_job_one_time_and_ends(
    which: str, order: str, queue: Queue, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echomq_app.admin.forms.PAGE_SIZE", 2)
    ids = fill(queue, which, 5)

    seen = walk(viewer, address("set", "default", which) + f"?order={order}")

    assert seen == (ids if order == "oldest" else ids[::-1])


@pytest.mark.parametrize("order", ["soonest", "latest"])
def test_paging_in_time_order_shows_each_job_one_time(
    order: str, queue: Queue, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echomq_app.admin.forms.PAGE_SIZE", 2)
    ids = fill(queue, "active", 5)

    seen = walk(viewer, address("set", "default", "active") + f"?order={order}")

    assert seen == (ids if order == "soonest" else ids[::-1])


def test_the_first_page_can_be_reached_from_a_later_one(
    queue: Queue, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echomq_app.admin.forms.PAGE_SIZE", 1)
    ids = fill(queue, "pending", 2)

    page = viewer.get(address("set", "default", "pending"), {"after": ids[0], "order": "oldest"})

    assert '<a class="button" href="?order=oldest" rel="first">' in page.content.decode()
    assert 'rel="next"' not in page.content.decode()


def test_the_window_is_in_the_operators_time_zone(
    queue: Queue, settings: Settings, viewer: Client
) -> None:
    settings.TIME_ZONE = "Asia/Kathmandu"
    old, young = mint_at(queue, "2026-03-01T10:00:00"), mint_at(queue, "2026-03-01T12:00:00")

    assert shown(viewer, "pending", since="2026-03-01T16:00") == [young]
    assert shown(viewer, "pending", until="2026-03-01T16:00") == [old]
    assert shown(viewer, "pending", since="2026-03-01T15:45", until="2026-03-01T17:45") == [old]
    page = viewer.get(address("set", "default", "pending")).content.decode()
    assert "Times in Asia/Kathmandu" in page
    assert "2026-03-01 15:45:00</time>" in page
    assert 'title="2026-03-01 10:00:00.000 UTC"' in page


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"since": "yesterday"}, "Enter a valid date/time."),
        ({"since": "2026-03-02T00:00", "until": "2026-03-01T00:00"}, "ends before it starts"),
        ({"order": "sideways"}, "Select a valid choice."),
        ({"after": "x" * 2000}, "a cursor is a member of the set"),
    ],
)
def test_what_cannot_be_shown_is_said(
    query: dict[str, str], said: str, queue: Queue, viewer: Client
) -> None:
    waiting(queue)

    page = viewer.get(address("set", "default", "pending"), query)

    assert page.status_code == 200
    assert said in page.content.decode()
    assert page.context["content"].rows == []


def test_a_set_too_large_to_sort_says_so_and_stays_in_time_order(
    queue: Queue, server: Server, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echomq_app.service.pages.SORTABLE", 3)
    ids = fill(queue, "schedule", 4)

    page = viewer.get(address("set", "default", "schedule"), {"order": "oldest"})

    assert [row.job_id for row in page.context["content"].rows] == ids[::-1]
    assert "too many to sort by mint time" in page.content.decode()


def test_jobs_in_lanes_are_told_of(queue: Queue, server: Server, viewer: Client) -> None:
    lane = queue._mint().mint()
    server.ask("SADD", "emq:{default}:groups", lane)
    server.ask("ZADD", f"emq:{{default}}:g:{lane}:pending", 0, queue._mint().mint())

    page = viewer.get(address("set", "default", "pending"))

    assert "1 more job waits in a lane" in page.content.decode()


def test_a_ghost_is_shown_as_one(queue: Queue, server: Server, viewer: Client) -> None:
    ghost = waiting(queue)
    server.ask("DEL", f"emq:{{default}}:job:{ghost}")

    page = viewer.get(address("set", "default", "pending"))

    assert page.context["content"].rows[0].ghost
    assert "no row" in page.content.decode()


def test_a_set_of_the_wrong_type_is_said_on_its_page(
    queue: Queue, server: Server, viewer: Client
) -> None:
    server.ask("SET", "emq:{default}:dead", "text")

    page = viewer.get(address("set", "default", "dead"))

    assert page.status_code == 200
    assert "not of EchoMQ&#x27;s type" in page.content.decode()


def test_a_member_that_is_no_job_id_is_shown_without_a_link_and_hides_no_job(
    queue: Queue, server: Server, viewer: Client
) -> None:
    job_id = waiting(queue)
    server.ask("ZADD", "emq:{default}:pending", 0, "garbage")

    page = viewer.get(address("set", "default", "pending"), {"order": "oldest"})

    assert [row.job_id for row in page.context["content"].rows] == [job_id, "garbage"]
    assert "it is no job id" in page.content.decode()
    assert "job/garbage" not in page.content.decode()


def test_without_a_server_a_set_says_where_it_looked(settings: Settings, viewer: Client) -> None:
    settings.ECHOMQ = {"CONNECTION": "redis://:hunter2@127.0.0.1:1/0", "PATIENCE": 0.05}

    page = viewer.get(address("set", "default", "dead"))

    assert page.status_code == 200
    assert "127.0.0.1:1/0 does not answer" in page.content.decode()
    assert "hunter2" not in page.content.decode()


def test_requeue_selected_is_offered_on_dead_jobs_alone(queue: Queue, operator: Client) -> None:
    dead = failed(queue)
    waiting(queue)

    dead_page = operator.get(address("set", "default", "dead")).content.decode()
    pending_page = operator.get(address("set", "default", "pending")).content.decode()

    assert f'name="job" value="{dead}"' in dead_page
    assert 'type="checkbox"' not in pending_page


def walk(client: Client, path: str) -> list[str]:
    """The ids of every page, following the link to the next."""
    seen: list[str] = []
    link = path
    while True:
        page = client.get(link)
        content = page.context["content"]
        seen += [row.job_id for row in content.rows]
        if content.next_cursor is None:
            return seen
        link = path.partition("?")[0] + page.context["next_link"]


def mint_at(queue: Queue, utc: str) -> str:
    at = datetime.fromisoformat(utc).replace(tzinfo=UTC).timestamp()
    job_id = Minter(clock=lambda: at).mint()
    queue.enqueue(job_id, b"{}")
    return job_id


def fill(queue: Queue, which: str, count: int) -> list[str]:
    """``count`` jobs in mint order; in the schedule the youngest is due first."""
    if which == "schedule":
        ids = Minter().mint_many(count)
        for place, job_id in enumerate(ids):
            queue.schedule_in(job_id, b"{}", MINUTE * (count - place))
        return list(ids)
    if which == "pending":
        return [waiting(queue) for _ in range(count)]
    if which == "active":
        return [
            running(queue, lease=MINUTE + timedelta(seconds=place)).job_id for place in range(count)
        ]
    if which == "dead":
        return [failed(queue) for _ in range(count)]
    return [done(queue, {"value": place}) for place in range(count)]
