"""Where an idle worker waits when a read is refused, or descriptors run high."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import redis

from echomq_app.runtime.threads import Bell
from echomq_app.wire.link import Wire
from echomq_app.wire.parking import Parking
from tests.eventually import eventually
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server

WAKE = "emq:{q}:wake"
OTHER = "emq:{other}:wake"


@contextmanager
def parked_at(client: redis.Redis, *lists: str, block_s: float = 1.0) -> Iterator[Parking]:
    parking = Parking(Wire(client), lists or (WAKE,), block_s=block_s)
    try:
        yield parking
    finally:
        parking.close()


@pytest.fixture
def bell() -> Iterator[Bell]:
    bell = Bell()
    yield bell
    bell.close()


def blocked(server: Server) -> int:
    return int(server.admin.info("clients")["blocked_clients"])


def test_a_closed_parking_leaves_no_connection(engine_server: Server) -> None:
    client = engine_server.client()
    with parked_at(client, block_s=5) as parking:
        parking.wait(0.01)
        eventually(lambda: blocked(engine_server) == 1)

    eventually(lambda: blocked(engine_server) == 0)


def test_a_list_of_the_wrong_type_does_not_spin(engine_server: Server, proxy: CuttingProxy) -> None:
    engine_server.ask("SET", WAKE, "x")

    with parked_at(proxy.client(), WAKE, OTHER, block_s=0.2) as parking:
        began = time.monotonic()
        while time.monotonic() - began < 0.5:
            parking.wait(0.1)
        assert len(proxy.commands) <= 4

        engine_server.ask("DEL", WAKE)
        engine_server.ask("LPUSH", OTHER, "1")
        eventually(lambda: parking.wait(0.1) == {OTHER})


def test_one_node_that_fails_leaves_the_other_places_parked(cluster: Cluster) -> None:
    first, second = "emq:{a}:wake", "emq:{b}:wake"
    assert cluster.owner(cluster.slot(first)) is not cluster.owner(cluster.slot(second))
    client = cluster.client()
    client.set(first, "x")
    parking = Parking(Wire(client), (first, second), block_s=5)
    try:
        for _ in range(3):
            client.lpush(second, "1")
            eventually(lambda: parking.wait(0.2) == {second})
    finally:
        parking.close()


def test_descriptors_above_a_thousand_are_no_trouble(engine_server: Server, bell: Bell) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    with ExitStack() as opened:
        devnull = Path(os.devnull)
        while opened.enter_context(devnull.open()).fileno() < 1100:
            pass
        with parked_at(engine_server.client()) as parking:
            engine_server.ask("LPUSH", WAKE, "1")
            assert parking.wait(5, bell=bell.fileno()) == {WAKE}
