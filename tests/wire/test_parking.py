"""Where idle workers wait: woken within milliseconds, on connections of their own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import QueueKeys, slot
from echomq_app.protocol.states import Admission
from echomq_app.service.queue import Queue
from echomq_app.wire import parking as module
from echomq_app.wire.link import Wire
from echomq_app.wire.parking import Parking
from tests.eventually import eventually
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.servers.traps import named

KEYS = QueueKeys("q")
SOON_S = 0.3
LONG_S = 8.0


def blocked(server: Server) -> int:
    return int(server.admin.info("clients")["blocked_clients"])


def blocking_reads(proxy: CuttingProxy) -> int:
    return sum(words[0] == b"BLPOP" for words in proxy.commands)


def parked(act: Callable[[], set[str]]) -> Future[tuple[set[str], float]]:
    """Wait in a thread; what woke it, and when."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(lambda: (act(), time.monotonic()))
    pool.shutdown(wait=False)
    return future


def test_a_new_job_wakes_a_parked_worker_within_milliseconds(engine_server: Server) -> None:
    wire = Wire(engine_server.client())
    parking = Parking(wire, [KEYS.wake], block_s=LONG_S)
    waiting = parked(lambda: parking.wait(LONG_S))
    eventually(lambda: blocked(engine_server) == 1, message="the blocking read")
    begin = time.monotonic()

    Queue(wire, "q").enqueue(Minter().mint(), b"{}")

    woken, at = waiting.result(LONG_S)
    assert woken == {KEYS.wake}
    assert at - begin < SOON_S
    parking.close()


def test_any_of_many_queues_wakes_and_is_named(engine_server: Server) -> None:
    wire = Wire(engine_server.client())
    lists = [QueueKeys(f"q{number}").wake for number in range(5)]
    parking = Parking(wire, lists, block_s=LONG_S)
    waiting = parked(lambda: parking.wait(LONG_S))
    eventually(lambda: blocked(engine_server) == 1, message="the blocking read")

    Queue(wire, "q3").enqueue(Minter().mint(), b"{}")

    assert waiting.result(LONG_S)[0] == {QueueKeys("q3").wake}
    parking.close()


def test_calls_go_on_while_a_worker_is_parked(engine_server: Server) -> None:
    client = engine_server.client(max_connections=1)
    wire = Wire(client)
    parking = Parking(wire, [KEYS.wake], block_s=LONG_S)
    waiting = parked(lambda: parking.wait(LONG_S))
    eventually(lambda: blocked(engine_server) == 1, message="the blocking read")

    assert Queue(wire, "q").pending_size() == 0
    assert Queue(wire, "q").enqueue(Minter().mint(), b"{}") is Admission.ADMITTED

    assert waiting.result(LONG_S)[0] == {KEYS.wake}
    parking.close()


def test_a_block_longer_than_the_clients_timeout_is_waited_out_on_one_connection(
    proxy: CuttingProxy, engine_server: Server
) -> None:
    wire = Wire(proxy.client(socket_timeout=0.05))
    parking = Parking(wire, [KEYS.wake], block_s=0.3)
    parking.wait(0)
    first = blocked_ids(engine_server)

    assert parking.wait(LONG_S) == set()
    parking.wait(0)

    assert blocked_ids(engine_server) == first
    assert blocking_reads(proxy) == 2
    parking.close()


def blocked_ids(server: Server) -> list[str]:
    """The connections that wait in a blocking read."""
    eventually(lambda: blocked(server) == 1, message="the blocking read")
    return [line["id"] for line in server.admin.client_list() if line["cmd"] == "blpop"]


def test_one_blocking_read_is_out_however_often_is_waited(
    proxy: CuttingProxy, engine_server: Server
) -> None:
    parking = Parking(Wire(proxy.client()), [KEYS.wake], block_s=LONG_S)

    for _ in range(20):
        assert parking.wait(0.001) == set()

    assert blocking_reads(proxy) == 1
    parking.close()
    eventually(lambda: blocked(engine_server) == 0, message="the end of the blocking read")


def test_a_token_that_comes_between_two_waits_is_not_lost(engine_server: Server) -> None:
    wire = Wire(engine_server.client())
    parking = Parking(wire, [KEYS.wake], block_s=LONG_S)
    parking.wait(0)
    eventually(lambda: blocked(engine_server) == 1, message="the blocking read")
    Queue(wire, "q").enqueue(Minter().mint(), b"{}")

    assert parking.wait(LONG_S) == {KEYS.wake}
    parking.close()


def test_without_parking_what_is_out_is_listened_to_and_nothing_is_sent(
    proxy: CuttingProxy, engine_server: Server
) -> None:
    wire = Wire(proxy.client())
    parking = Parking(wire, [KEYS.wake], block_s=LONG_S)

    assert parking.wait(0.01, park=False) == set()
    assert blocking_reads(proxy) == 0
    parking.wait(0)
    eventually(lambda: blocked(engine_server) == 1, message="the blocking read")
    Queue(wire, "q").enqueue(Minter().mint(), b"{}")
    assert parking.wait(LONG_S, park=False) == {KEYS.wake}
    assert parking.wait(0, park=False) == set()

    assert blocking_reads(proxy) == 1
    parking.close()


def test_a_bell_ends_the_wait_at_once(engine_server: Server) -> None:
    parking = Parking(Wire(engine_server.client()), [KEYS.wake], block_s=LONG_S)
    reader, writer = os.pipe()
    waiting = parked(lambda: parking.wait(LONG_S, bell=reader))
    eventually(lambda: blocked(engine_server) == 1, message="the blocking read")
    begin = time.monotonic()

    os.write(writer, b"!")

    woken, at = waiting.result(LONG_S)
    assert woken == set()
    assert at - begin < SOON_S
    parking.close()
    os.close(reader)
    os.close(writer)


def test_a_connection_cut_while_parked_is_replaced_and_wakes_again(
    proxy: CuttingProxy, engine_server: Server
) -> None:
    wire = Wire(proxy.client())
    parking = Parking(wire, [KEYS.wake], block_s=0.2)
    waiting = parked(lambda: parking.wait(LONG_S))
    eventually(lambda: blocked(engine_server) == 1, message="the blocking read")
    proxy.drop_connections()

    assert waiting.result(LONG_S)[0] == set()
    Queue(wire, "q").enqueue(Minter().mint(), b"{}")

    eventually(lambda: parking.wait(0.05) == {KEYS.wake}, message="the token")
    parking.close()


def test_a_reply_lost_on_its_way_costs_a_token_and_raises_nothing(proxy: CuttingProxy) -> None:
    wire = Wire(proxy.client())
    parking = Parking(wire, [KEYS.wake], block_s=0.2)
    queue = Queue(wire, "q")
    queue.enqueue(Minter().mint(), b"{}")
    cut = proxy.cut_before_reply(named("BLPOP"))

    assert parking.wait(LONG_S) == set()

    assert cut.fired == 1
    queue.enqueue(Minter().mint(), b"{}")
    eventually(lambda: parking.wait(0.05) == {KEYS.wake}, message="the next token")
    parking.close()


def test_no_server_raises_nothing_and_is_not_hammered(
    fresh_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    wire = Wire(fresh_server.client())
    parking = Parking(wire, [KEYS.wake], block_s=LONG_S)
    pool_for = wire.pool_for

    def counted(key: str) -> object:
        tried.append(key)
        return pool_for(key)

    monkeypatch.setattr(wire, "pool_for", counted)
    fresh_server.kill()

    for _ in range(10):
        assert parking.wait(0.001) == set()

    assert len(tried) == 1
    parking.close()


def test_a_frozen_server_is_given_up_after_the_block_and_its_margin(
    fresh_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MARGIN_S", 0.1)
    wire = Wire(fresh_server.client())
    parking = Parking(wire, [KEYS.wake], block_s=0.1)
    parking.wait(0)
    eventually(lambda: blocked(fresh_server) == 1, message="the blocking read")
    fresh_server.freeze()
    eventually(lambda: parking.wait(0.05, park=False) == set() and not parking._out, within=3)
    fresh_server.thaw()

    Queue(wire, "q").enqueue(Minter().mint(), b"{}")
    eventually(lambda: parking.wait(0.05) == {KEYS.wake}, message="the token")
    parking.close()


def test_a_wake_list_of_a_wrong_type_raises_nothing(engine_server: Server) -> None:
    engine_server.ask("SET", KEYS.wake, "not a list")
    parking = Parking(Wire(engine_server.client()), [KEYS.wake], block_s=0.2)

    assert [parking.wait(0.05) for _ in range(5)] == [set()] * 5

    engine_server.ask("DEL", KEYS.wake)
    engine_server.ask("RPUSH", KEYS.wake, "1")
    eventually(lambda: parking.wait(0.05) == {KEYS.wake}, message="the token")
    parking.close()


def test_queues_on_all_nodes_of_a_cluster_wake_one_worker(cluster: Cluster) -> None:
    wire = Wire(cluster.client())
    chosen: dict[int, str] = {}
    for number in range(100):
        chosen.setdefault(cluster.owner(slot(f"emq:{{q{number}}}:")).port, f"q{number}")
    names = list(chosen.values())
    assert len(names) == 3
    parking = Parking(wire, [QueueKeys(name).wake for name in names], block_s=LONG_S)

    for name in names:
        waiting = parked(lambda: parking.wait(LONG_S))
        eventually(lambda: [blocked(node) for node in cluster.nodes] == [1, 1, 1])
        begin = time.monotonic()
        Queue(wire, name).enqueue(Minter().mint(), b"{}")
        woken, at = waiting.result(LONG_S)
        assert woken == {QueueKeys(name).wake}
        assert at - begin < SOON_S

    parking.close()
    eventually(lambda: sum(map(blocked, cluster.nodes)) == 0)


def test_a_parked_worker_of_a_cluster_is_woken_after_its_slot_moved(cluster: Cluster) -> None:
    wire = Wire(cluster.client())
    queue, place = Queue(wire, "q"), slot(KEYS.base)
    parking = Parking(wire, [KEYS.wake], block_s=0.2)
    parking.wait(0)
    owner = cluster.owner(place)
    target = next(node for node in cluster.nodes if node is not owner)
    cluster.begin_migration(place, target)
    cluster.finish_migration(place)
    queue.enqueue(Minter().mint(), b"{}")

    eventually(lambda: parking.wait(0.05) == {KEYS.wake}, message="the token")
    parking.close()


def test_two_threads_park_apart_and_one_token_wakes_one_of_them(engine_server: Server) -> None:
    wire = Wire(engine_server.client())
    parkings = [Parking(wire, [KEYS.wake], block_s=0.5) for _ in range(2)]
    woken: list[set[str]] = []
    threads = [
        threading.Thread(target=lambda one=one: woken.append(one.wait(LONG_S))) for one in parkings
    ]
    for thread in threads:
        thread.start()
    eventually(lambda: blocked(engine_server) == 2, message="both blocking reads")
    Queue(wire, "q").enqueue(Minter().mint(), b"{}")
    for thread in threads:
        thread.join(LONG_S)

    assert sorted(woken, key=len) == [set(), {KEYS.wake}]
    for one in parkings:
        one.close()
