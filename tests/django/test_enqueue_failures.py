from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.transaction import atomic

from echomq_app.connections import minter, queue_named
from echomq_app.protocol.errors import (
    EnqueueFailed,
    FenceMismatch,
    IdCollision,
    ServerFull,
    ServerUnavailable,
    WrongType,
)
from echomq_app.protocol.states import State
from echomq_app.service.queue import Queue
from tests.django.conftest import point_at
from tests.django.work import work
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.servers.traps import named

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db(transaction=True)

AWAY = "redis://127.0.0.1:1/0"


@pytest.fixture
def away(site: Any, settings: Settings) -> Any:
    """A function that leads the site to a port where nobody listens, and another that leads back."""
    home = settings.ECHOMQ["CONNECTION"]

    class Away:
        def go(self) -> None:
            point_at(settings, AWAY, PATIENCE=0.1)

        def come_back(self) -> None:
            point_at(settings, home)

    return Away()


def order(site: Any, *rows: str) -> list[Any]:
    """A view's work: rows, and jobs for three queues' worth of things to do."""
    with atomic():
        for row in rows:
            Group.objects.create(name=row)
        return [
            site.add.enqueue(1),
            site.add.using(queue_name="mail").enqueue(2),
            site.add.using(run_after=datetime(2040, 1, 1, tzinfo=UTC)).enqueue(3),
        ]


def test_a_server_that_is_away_at_commit_fails_every_job_by_name(site: Any, away: Any) -> None:
    away.go()

    with pytest.raises(EnqueueFailed) as caught:
        order(site, "kept")

    failed = caught.value
    assert Group.objects.filter(name="kept").exists()
    assert sorted(job.queue for job in failed.jobs) == ["default", "default", "mail"]
    assert all(b'"task":"tests.django.site.tasks.add"' in job.payload for job in failed.jobs)
    assert isinstance(failed.__cause__, ServerUnavailable)
    assert "and 2 more may not have been enqueued: no server answered" in str(failed)
    assert "Send the same ids and payloads again" in str(failed)


def test_what_failed_can_be_sent_again_and_is_admitted_once(
    site: Any, away: Any, backend: Any
) -> None:
    away.go()
    with pytest.raises(EnqueueFailed) as caught:
        order(site)
    with pytest.raises(EnqueueFailed) as again:
        backend.resend(caught.value)
    away.come_back()

    backend.resend(again.value)
    backend.resend(caught.value)

    ids = {job.job_id for job in caught.value.jobs}
    states = {job.job_id: queue_named(job.queue).state(job.job_id) for job in caught.value.jobs}
    assert set(states) == ids
    assert sorted(states.values()) == [State.PENDING, State.PENDING, State.SCHEDULED]
    assert queue_named("default").facts().counts.pending == 1
    assert queue_named("mail").facts().counts.pending == 1


def test_a_resent_schedule_keeps_its_instant(site: Any, away: Any, backend: Any) -> None:
    away.go()
    with pytest.raises(EnqueueFailed) as caught:
        order(site)
    away.come_back()

    backend.resend(caught.value)

    (scheduled,) = [job for job in caught.value.jobs if job.run_at_ms is not None]
    expected = int(datetime(2040, 1, 1, tzinfo=UTC).timestamp() * 1000)
    assert queue_named("default").job(scheduled.job_id).run_at_ms == expected


def test_an_id_that_became_anothers_is_told_when_it_is_sent_again(
    site: Any, away: Any, backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    away.go()
    with pytest.raises(EnqueueFailed) as caught:
        site.add.enqueue(1)
    away.come_back()
    monkeypatch.setattr(minter(), "mint", lambda: caught.value.job_id)
    site.add.enqueue(2)

    with pytest.raises(IdCollision, match=caught.value.job_id):
        backend.resend(caught.value)

    assert queue_named("default").pending_size() == 1


def test_what_is_sent_again_after_it_ran_does_not_run_again(
    site: Any, behind_proxy: CuttingProxy, backend: Any, settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "PATIENCE": 0.01}
    queue_named("default").is_paused()
    behind_proxy.cut_before_reply(named("EVALSHA"), times=1)
    behind_proxy.cut_before_request(times=50)

    with pytest.raises(EnqueueFailed) as caught:
        site.add.enqueue(5)
    behind_proxy.reset()
    work()
    backend.resend(caught.value)
    work()

    assert site.seen == [(5, 1)]


def test_a_lost_reply_at_commit_admits_once(
    site: Any, behind_proxy: CuttingProxy, enqueued: list[str], settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "PATIENCE": 5}
    queue_named("default").is_paused()
    trap = behind_proxy.cut_before_reply(named("EVALSHA"))

    results = order(site)

    assert trap.fired == 1
    assert sorted(enqueued) == sorted(result.id for result in results)
    work("default", "mail")
    assert sorted(site.seen) == [(1, 1), (2, 1)]


def test_a_lost_request_at_commit_is_sent_again(
    site: Any, behind_proxy: CuttingProxy, settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "PATIENCE": 5}
    queue_named("default").is_paused()
    trap = behind_proxy.cut_before_request(named("EVALSHA"), times=2)

    order(site)
    work("default", "mail")

    assert trap.fired == 2
    assert sorted(site.seen) == [(1, 1), (2, 1)]


def test_a_failure_lets_the_hooks_between_the_jobs_run_and_names_all_jobs(
    site: Any, away: Any, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    away.go()

    @atomic
    def act() -> list[Any]:
        transaction.on_commit(lambda: seen.append("before"))
        first = site.add.enqueue(1)
        transaction.on_commit(lambda: seen.append("between"))
        second = site.add.enqueue(2)
        transaction.on_commit(lambda: seen.append("after"))
        return [first, second]

    with caplog.at_level(logging.ERROR, "echomq"), pytest.raises(EnqueueFailed) as caught:
        act()

    assert len(caught.value.jobs) == 2
    assert seen == ["before", "between"]
    assert f"job {caught.value.jobs[0].job_id} on queue 'default' was not enqueued" in caplog.text


def test_a_failed_job_is_not_told_as_enqueued(site: Any, away: Any, enqueued: list[str]) -> None:
    away.go()

    with pytest.raises(EnqueueFailed):
        order(site)

    assert enqueued == []


def test_one_queue_that_is_broken_does_not_hold_up_the_others(
    site: Any, engine_server: Server, enqueued: list[str]
) -> None:
    engine_server.ask("SET", "emq:{mail}:pending", "text")

    with pytest.raises(EnqueueFailed) as caught:
        order(site)

    assert [job.queue for job in caught.value.jobs] == ["mail"]
    assert isinstance(caught.value.__cause__, WrongType)
    assert queue_named("default").facts().counts.pending == 1
    assert len(enqueued) == 2


def test_a_broken_queue_holds_up_no_later_jobs_of_its_transaction(
    site: Any, engine_server: Server, queue: Queue
) -> None:
    engine_server.ask("SET", "emq:{mail}:pending", "text")
    seen: list[str] = []

    @atomic
    def act() -> None:
        site.add.using(queue_name="mail").enqueue(1)
        transaction.on_commit(lambda: seen.append("between"))
        seen.append(site.add.enqueue(2).id)

    with pytest.raises(EnqueueFailed) as caught:
        act()

    assert [job.queue for job in caught.value.jobs] == ["mail"]
    assert seen[1:] == ["between"]
    assert queue.browse() == [seen[0]]


def test_a_full_server_refuses_by_name_and_serves_what_it_has(
    site: Any, settings: Settings, fresh_server: Server
) -> None:
    point_at(settings, fresh_server.url)
    first = site.add.enqueue(1)
    fresh_server.ask("CONFIG", "SET", "maxmemory", "1")

    with pytest.raises(EnqueueFailed, match="the server is full and refused") as at_once:
        site.add.enqueue(2)
    with pytest.raises(EnqueueFailed, match="the server is full and refused") as on_commit:
        order(site)
    work()

    assert isinstance(at_once.value.__cause__, ServerFull)
    assert len(at_once.value.jobs) == 1
    assert len(on_commit.value.jobs) == 3
    assert site.seen == [(1, 1)]
    assert queue_named("default").state(first.id) is State.DONE


def test_a_foreign_fence_fails_by_name(site: Any, engine_server: Server) -> None:
    engine_server.ask("SET", "{emq}:version", "echomq:3.0.0")

    with pytest.raises(EnqueueFailed, match=r"fenced for 'echomq:3.0.0' and we accept") as caught:
        site.add.enqueue(1)

    assert isinstance(caught.value.__cause__, FenceMismatch)


def test_a_collision_on_commit_is_told_as_the_caller_has_the_id(
    site: Any, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = site.add.enqueue(1)
    mint = minter().mint
    taken = iter([first.id])
    monkeypatch.setattr(minter(), "mint", lambda: next(taken, None) or mint())
    seen: list[Any] = []

    @atomic
    def act() -> None:
        seen.extend(site.add.enqueue(number) for number in (2, 3))

    with pytest.raises(IdCollision, match=f"{first.id} already names another job"):
        act()

    assert queue.pending_size() == 2
    assert queue.state(seen[1].id) is State.PENDING
