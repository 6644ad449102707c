"""Hearing channels: over breaks, silence and refusals, on a connection of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from echomq_app.protocol.errors import ServerFault
from echomq_app.wire.link import Wire
from echomq_app.wire.subscription import Subscription
from tests.eventually import eventually
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.servers.sentinel import Sentinel
from tests.servers.server import Server
from tests.servers.traps import named

LONG_S = 10.0
Open = Callable[..., Subscription]


@pytest.fixture
def subscribed() -> Iterator[Open]:
    """Opens subscriptions that are ready, and closes them."""
    opened: list[Subscription] = []

    def open_(client: Any, *channels: str, **options: Any) -> Subscription:
        one = Subscription(Wire(client), channels or ("c",), **options)
        opened.append(one)
        assert one.wait_ready(LONG_S)
        return one

    yield open_
    for one in opened:
        one.close()


def subscribers(server: Server) -> list[str]:
    """The ids of the connections that are subscribed."""
    listed: list[dict[str, str]] = server.admin.client_list(_type="pubsub")
    return [one["id"] for one in listed]


@pytest.mark.parametrize("protocol", [2, 3])
def test_messages_are_heard_in_their_order_with_their_channel(
    every_engine: Server, subscribed: Open, protocol: int
) -> None:
    one = subscribed(every_engine.client(protocol=protocol), "a", "b")

    assert [every_engine.admin.publish(name, f"m{name}") for name in "aba"] == [1, 1, 1]

    assert [one.hear(LONG_S) for _ in range(3)] == [("a", b"ma"), ("b", b"mb"), ("a", b"ma")]
    assert one.hear(0) is None


def test_to_be_ready_is_to_have_heard_that_the_server_subscribed(
    engine_server: Server, proxy: CuttingProxy
) -> None:
    held = proxy.hold_reply(named("SUBSCRIBE"))
    one = Subscription(Wire(proxy.client(protocol=2)), ["a", "b"])

    assert one.wait_ready(0.3) is False
    held.release()

    assert one.wait_ready(LONG_S)
    assert engine_server.admin.pubsub_numsub("a", "b") == [(b"a", 1), (b"b", 1)]
    one.close()


def test_it_waits_no_longer_than_asked_and_longer_than_the_clients_timeout(
    engine_server: Server, subscribed: Open
) -> None:
    one = subscribed(engine_server.client(socket_timeout=0.05))
    begin = time.monotonic()

    assert one.hear(0.3) is None

    assert 0.3 <= time.monotonic() - begin < LONG_S
    assert one.gaps == 0
    assert len(subscribers(engine_server)) == 1


def test_a_killed_connection_is_subscribed_anew_and_the_gap_is_told(
    engine_server: Server, subscribed: Open
) -> None:
    one = subscribed(engine_server.client())
    (killed,) = subscribers(engine_server)
    engine_server.admin.client_kill_filter(_id=killed)

    assert one.hear(0.2) is None
    assert one.wait_ready(LONG_S)
    assert engine_server.admin.publish("c", "again") == 1

    assert one.hear(LONG_S) == ("c", b"again")
    assert one.gaps == 1


def test_a_server_that_comes_back_is_found(fresh_server: Server, subscribed: Open) -> None:
    one = subscribed(fresh_server.client())
    fresh_server.kill()

    assert one.hear(0.3) is None
    assert not one.ready
    fresh_server.start()

    assert one.wait_ready(LONG_S)
    assert one.gaps == 1


def test_a_server_that_was_never_there_is_asked_until_the_time_is_up(tmp_path: Path) -> None:
    client = redis.Redis(unix_socket_path=str(tmp_path / "nobody.sock"))
    one = Subscription(Wire(client), ["c"])
    begin = time.monotonic()

    assert one.wait_ready(0.3) is False

    assert 0.3 <= time.monotonic() - begin < LONG_S
    assert one.gaps == 0


def test_a_frozen_server_is_noticed_and_left(fresh_server: Server, subscribed: Open) -> None:
    one = subscribed(fresh_server.client(), check_s=0.2, answer_s=0.2)
    fresh_server.freeze()
    try:
        eventually(lambda: one.hear(0.05) is None and one.gaps == 1)
    finally:
        fresh_server.thaw()

    assert one.wait_ready(LONG_S)
    assert fresh_server.admin.publish("c", "thawed") >= 1
    assert eventually(lambda: one.hear(0.1)) == ("c", b"thawed")


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_quiet_server_that_lives_is_kept(
    engine_server: Server, subscribed: Open, protocol: int
) -> None:
    client = engine_server.client(protocol=protocol)
    one = subscribed(client, check_s=0.05, answer_s=5)
    before = subscribers(engine_server)

    assert one.hear(0.4) is None

    assert subscribers(engine_server) == before
    assert one.gaps == 0


def test_a_channel_that_the_user_may_not_hear_is_refused_by_name(fresh_server: Server) -> None:
    fresh_server.ask("ACL", "SETUSER", "deaf", "on", ">pw", "+@all", "~*", "resetchannels")
    one = Subscription(Wire(fresh_server.client(username="deaf", password="pw")), ["c"])

    with pytest.raises(ServerFault, match="the server refused subscribe: "):
        one.wait_ready(LONG_S)


def test_a_wrong_password_is_told_and_not_tried_for_ever(fresh_server: Server) -> None:
    one = Subscription(Wire(fresh_server.client(username="x", password="wrong")), ["c"])

    with pytest.raises(ServerFault, match="the server denied access"):
        one.hear(LONG_S)


def test_a_message_that_comes_in_pieces_is_heard_whole(
    engine_server: Server, proxy: CuttingProxy, subscribed: Open
) -> None:
    one = subscribed(proxy.client())
    big = b"x" * 1_000_000

    threading.Thread(target=engine_server.client().publish, args=("c", big)).start()

    assert one.hear(LONG_S) == ("c", big)


def test_on_a_cluster_a_message_from_any_node_is_heard(cluster: Cluster, subscribed: Open) -> None:
    one = subscribed(cluster.client(), "emq:{q}:events")

    for node in cluster.nodes:
        node.admin.publish("emq:{q}:events", node.port)

    heard = {one.hear(LONG_S) for _ in cluster.nodes}
    assert heard == {("emq:{q}:events", str(node.port).encode()) for node in cluster.nodes}


def test_the_new_master_is_heard_after_sentinels_change_masters(
    sentinel: Sentinel, subscribed: Open
) -> None:
    one = subscribed(sentinel.client(socket_timeout=1), answer_s=1.0, check_s=1.0)
    old = sentinel.master
    old.kill()
    eventually(lambda: sentinel.master is not old, within=60, message="the new master")

    def heard_again() -> object:
        sentinel.master.admin.publish("c", "again")
        return one.hear(0.2)

    assert eventually(heard_again, within=30) == ("c", b"again")
