"""Calls that were begun: their answers are those that asking at once would have given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from echomq_app.protocol.errors import ConnectionLost
from echomq_app.protocol.ids import Minter
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.wire.links import load_all, runs

LEASE_MS = 60_000


@pytest.fixture
def wire(proxy: CuttingProxy, engine_server: Server) -> Wire:
    """A wire behind a proxy that knows its server's fence and scripts."""
    load_all(engine_server)
    known = Wire(proxy.client(), Bus(patience_s=0.2))
    Queue(known, "q").pending_size()
    proxy.reset()
    return known


def enqueues(queue: Queue, count: int) -> list[Call[Any]]:
    return [calls.enqueue(queue.keys, job, b"{}") for job in Minter().mint_many(count)]


def claim(queue: Queue) -> Call[Any]:
    return calls.claim_many(queue.keys, LEASE_MS, 2, "w")


def test_answers_come_in_the_order_of_the_calls(wire: Wire) -> None:
    queue = Queue(wire, "q")
    wanted = [*enqueues(queue, 2), claim(queue), *enqueues(queue, 1)]

    answers = wire.begin(wanted).answers()

    assert [one.call for one in answers] == wanted
    assert [job.job_id for job in answers[2].unwrap()] == [one.args[0] for one in wanted[:2]]
    assert queue.pending_size() == 1


def test_the_server_works_before_anybody_asks_for_the_answers(
    wire: Wire, engine_server: Server
) -> None:
    queue = Queue(wire, "q")

    pending = wire.begin(enqueues(queue, 3))

    direct = engine_server.client()
    assert eventually(lambda: direct.zcard(queue.keys.pending) == 3)
    assert len(pending.answers()) == 3


def test_what_is_begun_twice_is_answered_each_for_itself_and_connections_are_used_again(
    wire: Wire, engine_server: Server
) -> None:
    queue = Queue(wire, "q")
    for _ in range(5):
        first, second = wire.begin(enqueues(queue, 2)), wire.begin([claim(queue)])
        wire.run(calls.command("alone", "GET", "alone", read=lambda found: found))
        assert len(second.answers()) == 1
        assert len(first.answers()) == 2

    known = engine_server.client().info("clients")["connected_clients"]
    assert known <= 6


def test_without_a_known_fence_nothing_is_sent_before_the_answers_are_asked_for(
    proxy: CuttingProxy,
) -> None:
    wire = Wire(proxy.client())
    queue = Queue(wire, "q")

    pending = wire.begin(enqueues(queue, 1))

    assert proxy.commands == []
    assert pending.answers()[0].error is None


def test_scripts_that_a_server_lost_are_loaded_when_the_answers_are_heard(
    wire: Wire, engine_server: Server
) -> None:
    queue = Queue(wire, "q")
    engine_server.ask("SCRIPT", "FLUSH")

    answers = wire.begin([*enqueues(queue, 2), claim(queue)]).answers()

    assert [one.error for one in answers] == [None] * 3


@pytest.mark.parametrize("cut", ["cut_before_reply", "cut_in_reply"])
def test_a_lost_answer_is_asked_for_again_where_that_is_safe_and_told_where_not(
    wire: Wire, proxy: CuttingProxy, cut: str
) -> None:
    queue = Queue(wire, "q")
    set_trap: Callable[..., object] = getattr(proxy, cut)
    set_trap(runs("enqueue"))

    enqueued, claimed = wire.begin([*enqueues(queue, 1), claim(queue)]).answers()

    assert enqueued.error is None
    assert enqueued.resent
    assert isinstance(claimed.error, ConnectionLost)
    assert queue.pending_size() + len(list(queue.wire.client.zrange(queue.keys.active, 0, -1))) == 1


def test_a_connection_that_died_while_idle_is_replaced(wire: Wire, proxy: CuttingProxy) -> None:
    queue = Queue(wire, "q")
    proxy.drop_connections()

    answers = wire.begin(enqueues(queue, 2)).answers()

    assert [one.error for one in answers] == [None, None]


def test_a_server_that_is_gone_is_told_by_every_answer(fresh_server: Server) -> None:
    queue = Queue(Wire(fresh_server.client(), Bus(patience_s=0.2)), "q")
    queue.pending_size()
    pending = queue.wire.begin(enqueues(queue, 2))
    fresh_server.kill()

    later = queue.wire.begin([claim(queue)])

    assert len(pending.answers()) == 2
    assert isinstance(later.answers()[0].error, ConnectionLost)
