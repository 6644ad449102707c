"""What a wire is handed: clients of either protocol version, small pools, closed ones, a database."""

from __future__ import annotations

import select
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import redis

from echomq_app.protocol.errors import ConnectionLost
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.states import Admission
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.faults.cases import CASES
from tests.faults.scene import Scene
from tests.servers.server import Server
from tests.wire.conftest import WireTo
from tests.wire.links import AwaitedWire

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("name", CASES)
def test_every_verb_answers_the_same_in_both_protocol_versions(
    name: str, protocol: int, engine_server: Server, wire_to: WireTo
) -> None:
    case = CASES[name]
    scene = Scene(engine_server.client(), wire_to(engine_server, protocol=protocol))

    assert case.act(scene, case.arrange(scene)) == case.result


@pytest.mark.parametrize("decode", [False, True])
def test_payloads_come_as_bytes_whatever_the_client_decodes(
    decode: bool, engine_server: Server, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(engine_server, decode_responses=decode), "q")
    queue.enqueue(Minter().mint(), b"\xff\x00\r\n")

    assert [held.payload for held in queue.claim_many(MINUTE, 1)] == [b"\xff\x00\r\n"]


def test_a_database_is_kept_over_a_reconnect(engine_server: Server, wire_to: WireTo) -> None:
    queue = Queue(wire_to(engine_server, db=3), "q")
    first, second = Minter().mint_many(2)
    queue.enqueue(first, b"{}")
    engine_server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    queue.enqueue(second, b"{}")

    assert engine_server.client(db=3).zcard(queue.keys.pending) == 2
    assert engine_server.ask("DBSIZE") == 0


def test_more_threads_than_connections_are_all_served(engine_server: Server) -> None:
    wire = Wire(engine_server.client(max_connections=2))
    queue, minter = Queue(wire, "q"), Minter()

    with ThreadPoolExecutor(6) as pool:
        admitted = list(pool.map(lambda _: queue.enqueue(minter.mint(), b"{}"), range(120)))

    assert admitted == [Admission.ADMITTED] * 120


def test_a_pool_of_one_serves_a_wire_and_its_other_user(engine_server: Server) -> None:
    client = engine_server.client(max_connections=1)
    queue = Queue(Wire(client), "q")

    for _ in range(3):
        assert queue.pending_size() == 0
        assert client.ping()


def test_a_wire_that_is_closed_gives_its_connections_back(engine_server: Server) -> None:
    client = engine_server.client(max_connections=4)

    for _ in range(20):
        wire = Wire(client)
        assert Queue(wire, "q").pending_size() == 0
        wire.close()

    assert client.ping()


def test_a_silent_server_holds_no_caller_whose_pool_sets_no_bound(
    fresh_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echomq_app.wire.line.LONGEST_ANSWER_S", 0.2)
    client = fresh_server.client(socket_timeout=None)
    queue = Queue(Wire(client, Bus(patience_s=0)), "q")
    assert queue.pending_size() == 0
    fresh_server.freeze()

    with pytest.raises(ConnectionLost, match="timed out"):
        queue.pending_size()
    fresh_server.thaw()
    assert client.connection_pool.connection_kwargs["socket_timeout"] is None


@pytest.mark.parametrize("timeout", [None, 0.2])
def test_a_connection_goes_back_to_its_pool_with_the_bound_that_it_came_with(
    timeout: float | None, fresh_server: Server
) -> None:
    client = fresh_server.client(socket_timeout=timeout)
    wire = Wire(client)
    assert Queue(wire, "q").pending_size() == 0
    wire.close()

    connection = client.connection_pool.get_connection()

    sock: Any = connection._sock
    assert sock.gettimeout() == timeout
    for bound in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        assert not any(sock.getsockopt(socket.SOL_SOCKET, bound, 16))
    client.connection_pool.release(connection)


class GreenSocket(socket.socket):
    """Waits in the program and never in the system, as a socket does that was patched."""

    def settimeout(self, value: float | None, /) -> None:
        self.bound = value
        super().settimeout(0)

    def gettimeout(self) -> float | None:
        return self.bound

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        self._wait()
        return super().recv(size, flags)

    def recv_into(self, *into: Any) -> int:
        self._wait()
        return super().recv_into(*into)

    def _wait(self) -> None:
        assert self.bound is not None, "nothing bounds this wait"
        if not select.select([self], [], [], self.bound)[0]:
            raise TimeoutError("timed out")


class GreenConnection(redis.UnixDomainSocketConnection):
    def _connect(self) -> socket.socket:
        plain = super()._connect()  # type: ignore[no-untyped-call]  # redis-py leaves it untyped
        green = GreenSocket(plain.family, plain.type, fileno=plain.detach())
        green.settimeout(self.socket_timeout)
        return green


def test_a_socket_that_never_waits_in_the_system_is_bounded_as_it_bounds_itself(
    fresh_server: Server,
) -> None:
    pool = redis.ConnectionPool(
        GreenConnection, path=fresh_server.socket_path, socket_timeout=0.2, protocol=2
    )
    queue = Queue(Wire(redis.Redis(connection_pool=pool), Bus(patience_s=0)), "q")
    assert queue.pending_size() == 0
    fresh_server.freeze()

    with pytest.raises(ConnectionLost, match="timed out"):
        queue.pending_size()
    fresh_server.thaw()


def test_a_claim_after_the_pool_was_closed_is_served(engine_server: Server) -> None:
    client = engine_server.client()
    queue, job_id = Queue(Wire(client), "q"), Minter().mint()
    queue.enqueue(job_id, b"{}")
    client.connection_pool.disconnect()
    others = [redis.Redis(unix_socket_path=engine_server.socket_path) for _ in range(8)]
    assert all(other.ping() for other in others)

    assert [held.job_id for held in queue.claim_many(MINUTE, 1)] == [job_id]


def test_an_awaited_claim_after_the_pool_was_closed_is_served(engine_server: Server) -> None:
    wire = AwaitedWire(engine_server.async_client())
    queue, job_id = Queue(wire, "q"), Minter().mint()
    queue.enqueue(job_id, b"{}")
    wire.wait_for(wire.link.client.aclose())

    assert [held.job_id for held in queue.claim_many(MINUTE, 1)] == [job_id]
    wire.close()
