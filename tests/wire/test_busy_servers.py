"""Servers that cannot answer now: what is waited for, how long, and what is said in the end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
import redis

from echomq_app.protocol import calls
from echomq_app.protocol.errors import ConnectionLost, ServerFault, ServerUnavailable
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Admission
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.servers.engines import DEFAULT, engine
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.wire.conftest import WireTo
from tests.wire.links import Gap, load_all, runs

MINUTE = timedelta(minutes=1)


def refused_with(server: Server, sentence: str) -> bool:
    try:
        server.client().get("probe")
    except redis.RedisError as error:
        return sentence in f"{getattr(error, 'status_code', '')} {error}"
    return False


@contextmanager
def busy(server: Server) -> Iterator[Callable[[], object]]:
    """A script runs that never ends; the value ends it."""
    server.ask("CONFIG", "SET", "busy-reply-threshold", 1)

    def loop() -> None:
        with pytest.raises(redis.ResponseError, match="killed"):
            server.client().eval("while true do end", 0)

    def end() -> None:
        server.client().script_kill()
        looping.join(10)

    looping = threading.Thread(target=loop)
    looping.start()
    eventually(lambda: refused_with(server, "BUSY"), message="the busy reply")
    try:
        yield end
    finally:
        if looping.is_alive():
            end()


def impatient() -> Bus:
    return Bus(patience_s=0)


def test_a_busy_server_is_waited_for_and_each_verb_runs_once(
    fresh_server: Server, wire_to: WireTo, gap: Gap
) -> None:
    load_all(fresh_server)
    queue = Queue(wire_to(fresh_server), "q")
    queue.pending_size()
    first, second = Minter().mint_many(2)
    with busy(fresh_server) as end:
        gap.meanwhile = end
        assert queue.enqueue(first, b"{}") is Admission.ADMITTED
    queue.enqueue(second, b"{}")
    gap.pauses.clear()
    with busy(fresh_server) as end:
        gap.meanwhile = end
        (held,) = queue.claim_many(MINUTE, 1)

    assert (held.job_id, held.token) == (first, 1)
    assert queue.pending_size() == 1


def test_a_server_that_stays_busy_is_named_so(fresh_server: Server, wire_to: WireTo) -> None:
    queue = Queue(wire_to(fresh_server, impatient()), "q")
    queue.pending_size()

    with (
        busy(fresh_server),
        pytest.raises(ServerUnavailable, match=r"enqueue.? within 0 s: .*BUSY"),
    ):
        queue.enqueue(Minter().mint(), b"{}")


def test_a_server_busy_when_a_client_first_connects_is_named_so(
    fresh_server: Server, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(fresh_server, impatient()), "q")

    with busy(fresh_server), pytest.raises(ServerUnavailable, match="BUSY"):
        queue.pending_size()


@pytest.mark.part(DEFAULT)
def test_a_loading_server_is_waited_for(wire_to: WireTo, gap: Gap) -> None:
    options = ("--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024")
    with Server(engine(DEFAULT), *options) as server:
        load_all(server)
        queue = Queue(wire_to(server), "q")
        queue.pending_size()
        server.ask("DEBUG", "POPULATE", 4000, "filler", 100)
        server.ask("CONFIG", "SET", "key-load-delay", 300)
        reloading = threading.Thread(
            target=lambda: server.client().execute_command("DEBUG", "RELOAD")
        )
        reloading.start()
        eventually(lambda: refused_with(server, "LOADING"), message="the server's loading")
        gap.meanwhile = reloading.join

        assert queue.enqueue(Minter().mint(), b"{}") is Admission.ADMITTED

        assert gap.pauses


def test_a_server_that_stays_read_only_is_named_so(fresh_server: Server, wire_to: WireTo) -> None:
    queue = Queue(wire_to(fresh_server, impatient()), "q")
    queue.pending_size()
    fresh_server.ask("REPLICAOF", "127.0.0.1", 1)

    with pytest.raises(ServerUnavailable, match="read only replica"):
        queue.enqueue(Minter().mint(), b"{}")


def test_a_replica_that_becomes_master_is_waited_for_and_each_verb_runs_once(
    fresh_server: Server, wire_to: WireTo, gap: Gap
) -> None:
    load_all(fresh_server)
    queue = Queue(wire_to(fresh_server), "q")
    job_id = Minter().mint()
    queue.pending_size()
    fresh_server.ask("REPLICAOF", "127.0.0.1", 1)
    gap.meanwhile = lambda: fresh_server.ask("REPLICAOF", "NO", "ONE")
    assert queue.enqueue(job_id, b"{}") is Admission.ADMITTED
    gap.pauses.clear()
    fresh_server.ask("REPLICAOF", "127.0.0.1", 1)

    (held,) = queue.claim_many(MINUTE, 1)

    assert (held.job_id, held.token) == (job_id, 1)


def test_a_server_without_a_free_connection_is_unavailable(
    fresh_server: Server, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(fresh_server, impatient()), "q")
    fresh_server.ask("CONFIG", "SET", "maxclients", 1)

    with pytest.raises(ServerUnavailable, match=r"no server answered .?enqueue.? within 0 s: .+"):
        queue.enqueue(Minter().mint(), b"{}")


def test_a_free_connection_is_waited_for(fresh_server: Server, wire_to: WireTo, gap: Gap) -> None:
    queue = Queue(wire_to(fresh_server), "q")
    fresh_server.ask("CONFIG", "SET", "maxclients", 1)
    gap.meanwhile = lambda: fresh_server.ask("CONFIG", "SET", "maxclients", 100)

    assert queue.enqueue(Minter().mint(), b"{}") is Admission.ADMITTED


@pytest.mark.parametrize(
    ("password", "sentence"),
    [(None, "denied access: .*authentic"), ("wrong", "denied access: .*(invalid|WRONGPASS)")],
)
def test_a_wrong_or_missing_password_is_named_at_once(
    password: str | None, sentence: str, fresh_server: Server, wire_to: WireTo, gap: Gap
) -> None:
    fresh_server.ask("CONFIG", "SET", "requirepass", "secret")
    queue = Queue(wire_to(fresh_server, password=password), "q")

    with pytest.raises(ServerFault, match=f"(?i){sentence}.*Check user, password and TLS"):
        queue.enqueue(Minter().mint(), b"{}")

    assert gap.pauses == []


@pytest.mark.parametrize(
    ("rights", "sentence"),
    [
        (("~{emq}:*", "+@all"), "refused enqueue: .*permission"),
        (("~emq:*", "+@all"), "refused the fence: .*permission"),
        (("~*", "+@all", "-script|load"), "did not take the script enqueue .*permission"),
        (("~*", "+@all", "-evalsha"), "refused enqueue: .*permission"),
    ],
)
def test_what_a_user_may_not_do_is_named_at_once(
    rights: tuple[str, ...], sentence: str, fresh_server: Server, wire_to: WireTo, gap: Gap
) -> None:
    fresh_server.ask("ACL", "SETUSER", "shop", "on", ">secret", "resetkeys", "&*", *rights)
    queue = Queue(wire_to(fresh_server, username="shop", password="secret"), "q")

    with pytest.raises(ServerFault, match=f"(?i){sentence}"):
        queue.enqueue(Minter().mint(), b"{}")

    assert gap.pauses == []


def claims_once(server: Server, proxy: CuttingProxy, wire: Wire) -> None:
    load_all(server)
    queue = Queue(wire, "q")
    for job_id in Minter().mint_many(2):
        queue.enqueue(job_id, b"{}")
    server.freeze()
    try:
        with pytest.raises(ConnectionLost, match="not safe to send again"):
            queue.claim_many(MINUTE, 1)
    finally:
        server.thaw()

    assert sum(map(runs("claim_many"), proxy.commands)) == 1
    direct = Queue(Wire(server.client()), "q")
    eventually(lambda: direct.facts().counts.active == 1)
    assert direct.facts().counts.pending == 1


def test_a_claim_on_a_frozen_server_is_sent_once_and_holds_one_job(
    fresh_server: Server, wire_to: WireTo
) -> None:
    with CuttingProxy(fresh_server.socket_path) as proxy:
        claims_once(fresh_server, proxy, wire_to(proxy, socket_timeout=0.2))


def test_a_client_that_retries_on_its_own_sends_no_claim_twice(fresh_server: Server) -> None:
    with CuttingProxy(fresh_server.socket_path) as proxy:
        client = redis.Redis(unix_socket_path=proxy.socket_path, socket_timeout=0.2)
        claims_once(fresh_server, proxy, Wire(client))


def test_an_enqueue_on_a_frozen_server_is_admitted_once_when_it_thaws(
    fresh_server: Server, wire_to: WireTo, gap: Gap
) -> None:
    load_all(fresh_server)
    queue = Queue(wire_to(fresh_server, socket_timeout=0.2), "q")
    queue.pending_size()
    fresh_server.freeze()
    gap.meanwhile = fresh_server.thaw

    assert queue.enqueue(Minter().mint(), b"{}") is Admission.ADMITTED

    assert queue.pending_size() == 1


def test_no_server_at_all_is_named_so(fresh_server: Server, wire_to: WireTo) -> None:
    fresh_server.kill()

    with pytest.raises(ServerUnavailable, match=r"no server answered .?enqueue.? within 0 s: .+"):
        Queue(wire_to(fresh_server, impatient()), "q").enqueue(Minter().mint(), b"{}")


def test_a_server_that_died_with_a_request_in_hand_may_have_executed_it(
    fresh_server: Server, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(fresh_server, impatient(), socket_timeout=0.2), "q")
    queue.pending_size()
    fresh_server.freeze()

    with pytest.raises(ConnectionLost) as lost:
        queue.enqueue(Minter().mint(), b"{}")
    fresh_server.thaw()

    assert not isinstance(lost.value, ServerUnavailable)


def test_the_answers_before_a_server_died_are_kept(fresh_server: Server, wire_to: WireTo) -> None:
    keys = QueueKeys("q")
    with CuttingProxy(fresh_server.socket_path) as proxy:
        load_all(fresh_server)
        wire = wire_to(proxy, Bus(patience_s=0))
        first, second = Minter().mint_many(2)
        proxy.cut_before_reply(lambda words: words[-2] == second.encode())

        answers = wire.answer([calls.enqueue(keys, first, b"1"), calls.enqueue(keys, second, b"2")])

    assert answers[0].value is Admission.ADMITTED
    assert isinstance(answers[1].error, ConnectionLost)


def test_a_server_that_may_not_write_without_its_replicas_is_waited_for(
    fresh_server: Server,
) -> None:
    pauses: list[float] = []

    def replicas_return(seconds: float) -> None:
        pauses.append(seconds)
        fresh_server.ask("CONFIG", "SET", "min-replicas-to-write", "0")

    queue = Queue(Wire(fresh_server.client(), sleep=replicas_return), "q")
    queue.enqueue(Minter().mint(), b"{}")
    fresh_server.ask("CONFIG", "SET", "min-replicas-to-write", "1")

    assert len(queue.claim_many(timedelta(minutes=1), 5)) == 1
    assert len(pauses) == 1
