from __future__ import annotations

import asyncio
from typing import Any

import pytest
import redis
import redis.asyncio
from django.core.exceptions import ImproperlyConfigured
from redis.cluster import RedisCluster

from echomq_app.connections import clients
from tests.servers.cluster import Cluster
from tests.servers.sentinel import Sentinel
from tests.servers.server import Server

ALIKE = {
    *("host", "port", "path", "db", "username", "password", "client_name", "ssl_cert_reqs"),
    *("socket_timeout", "socket_connect_timeout", "socket_keepalive"),
}


def options(url: str) -> dict[str, Any]:
    """The connection options of a plain client, blocking and asyncio: both must agree."""
    blocking = clients.client_from_url(url)
    awaited = clients.async_client_from_url(url)
    assert isinstance(blocking, redis.Redis)
    assert isinstance(awaited, redis.asyncio.Redis)
    found, other = (
        {name: value for name, value in pool.connection_kwargs.items() if name in ALIKE}
        for pool in (blocking.connection_pool, awaited.connection_pool)
    )
    assert found == other
    assert blocking.connection_pool.make_connection() is not None
    assert awaited.connection_pool.make_connection() is not None
    return found


def test_a_redis_url_is_read_whole() -> None:
    found = options("redis://me:s%2Fecret@host:6380/2?client_name=shop")

    assert (found["host"], found["port"], found["db"]) == ("host", 6380, 2)
    assert (found["username"], found["password"]) == ("me", "s/ecret")
    assert found["client_name"] == "shop"


def test_a_rediss_url_speaks_tls() -> None:
    found = options("rediss://host?ssl_cert_reqs=none")
    pool = clients.client_from_url("rediss://host").connection_pool  # type: ignore[union-attr]  # no cluster

    assert (found["host"], found["ssl_cert_reqs"]) == ("host", "none")
    assert issubclass(pool.connection_class, redis.SSLConnection)


def test_a_unix_url_names_a_socket() -> None:
    found = options("unix:///run/redis.sock?db=3")

    assert (found["path"], found["db"]) == ("/run/redis.sock", 3)


@pytest.mark.parametrize("url", ["redis://host", "unix:///run/redis.sock"])
def test_no_client_waits_for_ever_or_sends_twice_by_itself(url: str) -> None:
    client = clients.client_from_url(url)
    found = options(url)

    assert isinstance(client, redis.Redis)
    assert (found["socket_timeout"], found["socket_connect_timeout"]) == (5.0, 2.0)
    assert client.connection_pool.connection_kwargs["retry"].get_retries() == 0


def test_a_url_may_set_its_own_timeout() -> None:
    assert options("redis://host?socket_timeout=30")["socket_timeout"] == 30.0


@pytest.mark.parametrize("url", ["http://host", "redis://host:port", "redis+sentinel://host"])
def test_a_url_that_cannot_be_read_makes_no_client(url: str) -> None:
    for make in (clients.client_from_url, clients.async_client_from_url):
        with pytest.raises(ImproperlyConfigured, match="CONNECTION"):
            make(url)


def test_a_unix_url_reaches_its_server(engine_server: Server) -> None:
    client = clients.client_from_url(engine_server.url)

    assert client.set("key", "value")
    assert engine_server.ask("GET", "key") == b"value"


def test_a_cluster_url_reaches_every_slot(cluster: Cluster) -> None:
    client = clients.client_from_url(cluster.url)

    assert isinstance(client, RedisCluster)
    assert [client.set(name, name) for name in "abcdefgh"] == [True] * 8


def test_a_cluster_url_needs_one_node_that_lives(cluster: Cluster) -> None:
    dead = "redis+cluster://127.0.0.1:1," + cluster.url.partition("://")[2]

    assert clients.client_from_url(dead).set("key", "value")


def test_a_sentinel_url_reaches_the_master(sentinel: Sentinel) -> None:
    client = clients.client_from_url(sentinel.url)

    assert isinstance(client, redis.Redis)
    assert client.set("key", "value")
    assert client.info("replication")["role"] == "master"


def test_a_sentinel_url_may_name_a_database(sentinel: Sentinel) -> None:
    client = clients.client_from_url(f"{sentinel.url}/3")

    client.set("key", "value")

    assert sentinel.client().get("key") is None
    assert client.get("key") == b"value"


def test_asyncio_clients_reach_the_same_servers(
    engine_server: Server, cluster: Cluster, sentinel: Sentinel
) -> None:
    async def write(url: str) -> bool:
        client = clients.async_client_from_url(url)
        try:
            return bool(await client.set("key", "value"))
        finally:
            await client.aclose()

    for url in (engine_server.url, cluster.url, sentinel.url):
        assert asyncio.run(write(url)), url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("redis://me:secret@host/1?password=secret", "redis://me:***@host/1"),
        ("redis://:secret@host", "redis://:***@host"),
        ("rediss://secret@host", "rediss://secret:***@host"),
        ("unix://me:secret@/run/r.sock?db=1", "unix://me:***@/run/r.sock"),
        ("redis+cluster://me:secret@one:1,two:2", "redis+cluster://me:***@one:1,two:2"),
        ("redis+sentinel://:secret@s:26379/main", "redis+sentinel://:***@s:26379/main"),
        ("redis://:sec@ret@host", "redis://:***@host"),
        ("redis://:sec/ret@host/0", "redis://***"),
        ("redis://:sec?ret@host/0", "redis://***"),
        ("redis://:sec#ret@host/0", "redis://***"),
        ("redis://host/0?password=sec@ret", "redis://***"),
    ],
)
def test_a_shown_url_has_no_password(url: str, shown: str) -> None:
    assert clients.redacted(url) == shown
