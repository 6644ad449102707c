"""The fence: claimed where there is none, read once a client, and again after a reconnect."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from echomq_app.protocol.errors import FenceMismatch
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import VERSION
from echomq_app.protocol.states import Admission
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.servers.traps import Words, named
from tests.wire.conftest import WireTo

OURS = b"echomq:4.0.0"
OLDER = b"echomq:3.0.0"


def reads_fence(words: Words) -> bool:
    return words == (b"GET", VERSION.encode())


def fence_reads(proxy: CuttingProxy) -> int:
    return sum(map(reads_fence, proxy.commands))


def test_an_absent_fence_is_claimed(engine_server: Server, wire_to: WireTo) -> None:
    assert Queue(wire_to(engine_server), "q").pending_size() == 0

    assert engine_server.ask("GET", VERSION) == OURS


def test_our_own_fence_is_passed(engine_server: Server, wire_to: WireTo) -> None:
    engine_server.ask("SET", VERSION, OURS)

    assert Queue(wire_to(engine_server), "q").pending_size() == 0


def test_a_foreign_fence_is_refused_by_both_names_and_nothing_is_sent(
    engine_server: Server, proxy: CuttingProxy, wire_to: WireTo
) -> None:
    engine_server.ask("SET", VERSION, OLDER)
    queue = Queue(wire_to(proxy), "q")

    with pytest.raises(FenceMismatch, match=r"'echomq:3\.0\.0' and we accept echomq:4\.0\.0"):
        queue.enqueue(Minter().mint(), b"{}")

    assert [words[0] for words in proxy.commands] == [b"GET"]
    assert engine_server.ask("GET", VERSION) == OLDER


def test_an_accepted_older_fence_is_joined_and_left_as_it_is(
    engine_server: Server, wire_to: WireTo
) -> None:
    engine_server.ask("SET", VERSION, OLDER)
    bus = Bus(accept_versions=frozenset({"echomq:3.0.0", "echomq:4.0.0"}))

    assert Queue(wire_to(engine_server, bus), "q").enqueue(Minter().mint(), b"{}") is (
        Admission.ADMITTED
    )

    assert engine_server.ask("GET", VERSION) == OLDER


def test_a_bus_may_be_claimed_for_an_older_speaker(engine_server: Server, wire_to: WireTo) -> None:
    older = OLDER.decode()
    bus = Bus(claim_version=older, accept_versions=frozenset({older}))

    Queue(wire_to(engine_server, bus), "q").pending_size()

    assert engine_server.ask("GET", VERSION) == OLDER


def test_who_loses_the_race_for_an_absent_fence_is_judged_by_the_winners(
    engine_server: Server, proxy: CuttingProxy, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(proxy), "q")
    hold = proxy.hold_reply(named("GET"))
    refused: list[FenceMismatch] = []

    def call() -> None:
        with pytest.raises(FenceMismatch) as raised:
            queue.pending_size()
        refused.append(raised.value)

    caller = threading.Thread(target=call)
    caller.start()
    hold.wait()
    engine_server.ask("SET", VERSION, OLDER)
    hold.release()
    caller.join(10)

    assert "echomq:3.0.0" in str(refused[0])


def test_the_fence_is_read_once_a_client(proxy: CuttingProxy, wire_to: WireTo) -> None:
    queue = Queue(wire_to(proxy), "q")

    for _ in range(10):
        queue.pending_size()

    assert fence_reads(proxy) == 2
    assert [words[0] for words in proxy.commands[:3]] == [b"GET", b"SET", b"GET"]


def test_two_clients_read_the_fence_for_themselves(proxy: CuttingProxy, wire_to: WireTo) -> None:
    Queue(wire_to(proxy), "q").pending_size()
    proxy.reset()

    Queue(wire_to(proxy), "q").pending_size()

    assert fence_reads(proxy) == 1


def test_the_fence_is_read_again_after_a_connection_that_idled_was_lost(
    proxy: CuttingProxy, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(proxy), "q")
    queue.pending_size()
    proxy.reset()
    proxy.drop_connections()

    queue.pending_size()
    queue.pending_size()

    assert fence_reads(proxy) == 1
    assert reads_fence(proxy.commands[0])


def test_the_fence_is_read_again_after_a_reply_was_lost(
    proxy: CuttingProxy, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(proxy), "q")
    queue.pending_size()
    proxy.reset()
    proxy.cut_before_reply(named("ZCARD"))

    queue.pending_size()
    queue.pending_size()

    assert [words[0] for words in proxy.commands] == [b"ZCARD", b"GET", b"ZCARD", b"ZCARD"]


def test_a_server_replaced_by_one_with_a_foreign_fence_gets_no_call(
    fresh_server: Server, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(fresh_server), "q")
    queue.enqueue(Minter().mint(), b"{}")
    fresh_server.restart()
    fresh_server.ask("SET", VERSION, OLDER)

    with pytest.raises(FenceMismatch):
        queue.enqueue(Minter().mint(), b"{}")

    assert fresh_server.ask("DBSIZE") == 1


def test_a_claim_on_a_connection_that_idled_and_was_lost_is_sent_once_and_served(
    proxy: CuttingProxy,
) -> None:
    queue = Queue(Wire(proxy.client()), "q")
    job_id = Minter().mint()
    queue.enqueue(job_id, b"{}")
    proxy.drop_connections()

    (held,) = queue.claim_many(timedelta(minutes=1), 5)

    assert (held.job_id, held.token) == (job_id, 1)
