"""What a page costs the server: the same for ten jobs and for a hundred thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client

from echomq_app.connections import queue_named
from echomq_app.protocol.ids import Minter
from echomq_app.service.queue import Queue
from tests.django.admin.jobs import address, connect
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

FEW, MANY = 10, 100_000
PENDING_PAGE = ("set", "default", "pending")


@pytest.fixture
def counted(engine_server: Server, proxy: CuttingProxy, settings: Settings) -> CuttingProxy:
    """The proxy that all pages go through, connected and with the scripts loaded."""
    connect(settings, proxy.url, "default")
    return proxy


def cost(client: Client, proxy: CuttingProxy, *page: str, query: str = "") -> tuple[int, int]:
    """Round trips and commands of a page that has been seen before."""
    path = address(*page) + query
    client.get(path)
    proxy.reset()
    assert client.get(path).status_code == 200
    return proxy.round_trips, len(proxy.commands)


def fill(queue: Queue, count: int) -> None:
    queue.enqueue_many([(job_id, b'{"task":"t"}') for job_id in Minter().mint_many(count)])


def test_pages_cost_the_same_for_ten_jobs_and_for_a_hundred_thousand(
    counted: CuttingProxy, viewer: Client
) -> None:
    queue = queue_named("default")
    fill(queue, FEW)
    few = {query: cost(viewer, counted, *PENDING_PAGE, query=query) for query in QUERIES}
    fill(queue, MANY)
    many = {query: cost(viewer, counted, *PENDING_PAGE, query=query) for query in QUERIES}

    assert few == many == dict.fromkeys(QUERIES, (3, 4))


QUERIES = ("?order=oldest", "?order=newest", "?since=2026-01-01T00:00")


@pytest.mark.parametrize(
    ("page", "trips", "commands"),
    [
        (("changelist",), 2, 2),
        (("set", "default", "dead"), 3, 4),
        (("set", "default", "done"), 3, 4),
        (("set", "default", "active"), 4, 5),
        (("set", "default", "schedule"), 4, 5),
    ],
)
def test_the_cost_of_a_page_is_known(
    page: tuple[str, ...], trips: int, commands: int, counted: CuttingProxy, viewer: Client
) -> None:
    assert cost(viewer, counted, *page) == (trips, commands)


def test_a_job_page_is_one_round_trip(counted: CuttingProxy, viewer: Client) -> None:
    job_id = queue_named("default").enqueue_new(b"{}")

    assert cost(viewer, counted, "job", "default", job_id)[0] == 1


def test_no_page_counts_or_scans(counted: CuttingProxy, viewer: Client) -> None:
    fill(queue_named("default"), FEW)
    for page in ("changelist",), PENDING_PAGE, ("set", "default", "active"):
        cost(viewer, counted, *page)
        words = {command[0].upper() for command in counted.commands}
        assert not words & {b"KEYS", b"SCAN", b"ZSCAN", b"ZCOUNT", b"ZLEXCOUNT"}
