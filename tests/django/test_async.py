from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import sync_to_async
from django.db.transaction import atomic
from django.test import AsyncClient, Client

from echomq_app.compat import TaskResultDoesNotExist, TaskResultStatus
from echomq_app.protocol.errors import EnqueueFailed
from echomq_app.service.queue import Queue
from tests.django.conftest import point_at
from tests.django.work import work

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.django.urls")]


def test_a_view_stores_a_row_and_enqueues_its_job(
    site: Any, run: Any, client: Client, backend: Any
) -> None:
    told = client.get("/order").json()

    assert run(backend.get_result(told["id"])).return_value == 1


def test_an_async_view_enqueues_and_looks(site: Any, queue: Queue) -> None:
    async def browse() -> tuple[Any, Any]:
        client = AsyncClient()
        ordered = json.loads((await client.get("/order-later")).content)
        before = json.loads((await client.get(f"/look/{ordered['ids'][0]}")).content)
        await asyncio.to_thread(work)
        after = [json.loads((await client.get(f"/look/{one}")).content) for one in ordered["ids"]]
        return before, after

    before, after = asyncio.run(browse())

    assert before == {"status": TaskResultStatus.READY, "attempts": 0}
    assert after == [{"status": TaskResultStatus.SUCCESSFUL, "attempts": 1}] * 2
    assert site.seen == [(1, 1), (2, 2)]


def test_aenqueue_waits_for_the_commit_of_the_thread_that_it_runs_in(
    site: Any, queue: Queue
) -> None:
    seen: list[int] = []

    async def enqueue() -> None:
        opened = atomic()
        await sync_to_async(opened.__enter__)()
        await site.add.aenqueue(1)
        seen.append(await sync_to_async(queue.pending_size)())
        await sync_to_async(opened.__exit__)(None, None, None)
        seen.append(await sync_to_async(queue.pending_size)())

    asyncio.run(enqueue())

    assert seen == [0, 1]


def test_many_are_awaited_at_once(site: Any, queue: Queue) -> None:
    async def enqueue() -> set[str]:
        results = await asyncio.gather(*(site.add.aenqueue(number) for number in range(50)))
        return {result.id for result in results}

    ids = asyncio.run(enqueue())

    assert len(ids) == 50
    assert set(queue.browse(100)) == ids


def test_aget_result_is_get_result(site: Any, queue: Queue) -> None:
    async def look() -> None:
        result = await site.add.aenqueue(1)
        assert await site.add.aget_result(result.id) == result
        with pytest.raises(TaskResultDoesNotExist):
            await site.add.aget_result("JOB00000000000")

    asyncio.run(look())


def test_aenqueue_fails_by_name_too(site: Any, settings: Settings) -> None:
    point_at(settings, "redis://127.0.0.1:1/0", PATIENCE=0.05)

    with pytest.raises(EnqueueFailed) as caught:
        asyncio.run(site.add.aenqueue(1))

    assert len(caught.value.jobs) == 1
