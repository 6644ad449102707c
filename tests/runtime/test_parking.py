"""Where an idle worker waits, on real connections, some of which break."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import redis

from echomq_app.runtime.threads import Bell
from echomq_app.wire import parking as parking_module
from echomq_app.wire.link import Wire
from echomq_app.wire.parking import Parking
from tests.eventually import eventually
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.servers.traps import named

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


def seconds_of(act: object) -> float:
    began = time.monotonic()
    act()  # type: ignore[operator]
    return time.monotonic() - began


def test_a_token_that_is_there_is_taken_at_once(engine_server: Server) -> None:
    engine_server.ask("LPUSH", OTHER, "1")

    with parked_at(engine_server.client(), WAKE, OTHER) as parking:
        assert parking.wait(5) == {OTHER}

    assert engine_server.ask("LLEN", OTHER) == 0


def test_a_token_that_comes_while_parked_ends_the_wait(engine_server: Server) -> None:
    with parked_at(engine_server.client()) as parking:
        assert parking.wait(0.01) == set()
        eventually(lambda: blocked(engine_server) == 1)
        engine_server.ask("LPUSH", WAKE, "1")

        took = seconds_of(lambda: parking.wait(5))

    assert took < 1


def test_a_wait_without_a_token_lasts_as_long_as_asked(engine_server: Server) -> None:
    with parked_at(engine_server.client()) as parking:
        assert 0.19 < seconds_of(lambda: parking.wait(0.2)) < 1


def test_the_bell_ends_a_wait(engine_server: Server, bell: Bell) -> None:
    with parked_at(engine_server.client()) as parking:
        ringer = threading.Timer(0.05, bell.ring)
        ringer.start()
        took = seconds_of(lambda: parking.wait(10, bell=bell.fileno()))
        ringer.join()

        assert took < 5
        bell.hush()
        assert 0.04 < seconds_of(lambda: parking.wait(0.05, bell=bell.fileno())) < 1


def test_a_read_stays_out_between_two_waits_and_none_is_sent_when_not_parking(
    engine_server: Server,
) -> None:
    with parked_at(engine_server.client(), block_s=5) as parking:
        parking.wait(0.01)
        eventually(lambda: blocked(engine_server) == 1)
        parking.wait(0.01, park=False)
        assert blocked(engine_server) == 1

        engine_server.ask("LPUSH", WAKE, "1", "1")
        assert parking.wait(1, park=False) == {WAKE}
        assert parking.wait(0.05, park=False) == set()

    assert engine_server.ask("LLEN", WAKE) == 1


def test_a_closed_parking_leaves_no_connection(engine_server: Server) -> None:
    client = engine_server.client()
    with parked_at(client, block_s=5) as parking:
        parking.wait(0.01)
        eventually(lambda: blocked(engine_server) == 1)

    eventually(lambda: blocked(engine_server) == 0)


def test_a_dropped_connection_costs_a_rest_and_is_replaced(
    engine_server: Server, proxy: CuttingProxy, bell: Bell
) -> None:
    with parked_at(proxy.client(), block_s=0.1) as parking:
        parking.wait(0.01)
        proxy.drop_connections()

        def woken() -> bool:
            engine_server.ask("LPUSH", WAKE, "1")
            return parking.wait(0.05, bell=bell.fileno()) == {WAKE}

        eventually(woken)


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


def test_a_server_that_is_down_does_not_spin_and_raises_nothing(
    fresh_server: Server, bell: Bell
) -> None:
    with parked_at(fresh_server.client(), block_s=0.1) as parking:
        parking.wait(0.01)
        fresh_server.kill()
        parking.wait(1)
        took = seconds_of(lambda: parking.wait(0.2, bell=bell.fileno()))
        assert took > 0.19

        fresh_server.start()
        fresh_server.ask("LPUSH", WAKE, "1")
        eventually(lambda: parking.wait(0.1) == {WAKE})


def test_a_read_whose_answer_never_comes_is_given_up_and_sent_anew(
    engine_server: Server, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parking_module, "MARGIN_S", 0.2)
    held = proxy.hold_reply(named("BLPOP"))
    with parked_at(proxy.client(), block_s=0.1) as parking:
        parking.wait(0.01)
        held.wait()

        def woken() -> bool:
            engine_server.ask("LPUSH", WAKE, "1")
            return parking.wait(0.05) == {WAKE}

        eventually(woken)
        held.release()


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
