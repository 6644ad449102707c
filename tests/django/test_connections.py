from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis
from django.core.exceptions import ImproperlyConfigured
from django_redis import get_redis_connection

from echomq_app.connections import (
    address,
    async_queue_named,
    async_wire,
    embedded_server,
    forget,
    introduce,
    minter,
    new_wire,
    queue_named,
    server_bus,
    wire,
)
from echomq_app.protocol.errors import ServerUnavailable
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.states import Admission, State
from tests.eventually import eventually
from tests.servers.cluster import Cluster
from tests.servers.sentinel import Sentinel
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings


def alias(settings: Settings, location: str, **options: Any) -> None:
    """Let the queues live in the django-redis alias ``queue``."""
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
        "queue": {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": location,
            "OPTIONS": options,
        },
    }
    settings.ECHOMQ = {"CONNECTION": "queue", "PATIENCE": 0.3}


def plain() -> redis.Redis:
    """The client of the shared wire, which is no cluster's."""
    client = wire().client
    assert isinstance(client, redis.Redis)
    return client


def speaks(name: str = "default") -> bool:
    """Whether a job goes in and comes out again."""
    queue = queue_named(name)
    job_id = queue.enqueue_new(b"{}")
    return queue.state(job_id) is State.PENDING and queue.job(job_id).fields is not None


def test_an_alias_lends_its_own_pool(settings: Settings, engine_server: Server) -> None:
    alias(settings, engine_server.url)

    assert speaks()
    assert plain().connection_pool is get_redis_connection("queue").connection_pool


@pytest.mark.parametrize(
    "options",
    [
        {"CONNECTION_POOL_KWARGS": {"decode_responses": True}},
        {"CONNECTION_POOL_KWARGS": {"protocol": 2}},
        {"CONNECTION_POOL_KWARGS": {"max_connections": 1}},
        {"CONNECTION_POOL_KWARGS": {"retry_on_timeout": True, "health_check_interval": 1}},
        {"CONNECTION_POOL_CLASS": "redis.BlockingConnectionPool"},
        {"SOCKET_TIMEOUT": 3, "SOCKET_CONNECT_TIMEOUT": 3},
        {"CLIENT_CLASS": "django_redis.client.HerdClient"},
        {"PARSER_CLASS": "redis._parsers._RESP2Parser"},
    ],
    ids=str,
)
def test_an_alias_works_with_options_of_its_own(
    settings: Settings, fresh_server: Server, options: dict[str, Any]
) -> None:
    alias(settings, fresh_server.url, **options)

    assert speaks()
    assert server_bus().check_server().engine == "Valkey"


def test_an_alias_that_is_none_is_told_by_name(settings: Settings) -> None:
    settings.ECHOMQ = {"CONNECTION": "missing"}

    with pytest.raises(ImproperlyConfigured, match="'missing', which is no django-redis alias"):
        wire()


def test_an_alias_of_many_servers_is_refused(settings: Settings, engine_server: Server) -> None:
    alias(
        settings,
        f"{engine_server.url},{engine_server.url}",
        CLIENT_CLASS="django_redis.client.ShardClient",
    )

    with pytest.raises(ImproperlyConfigured, match="'queue', which is no django-redis alias"):
        wire()


@pytest.mark.usefixtures("in_production")
def test_no_connection_without_debug_is_refused_at_its_first_use(settings: Settings) -> None:
    settings.ECHOMQ = {}

    with pytest.raises(ImproperlyConfigured, match=r'ECHOMQ\["CONNECTION"\] is missing and DEBUG'):
        wire()


def test_a_unix_url_carries_jobs(settings: Settings, engine_server: Server) -> None:
    settings.ECHOMQ = {"CONNECTION": engine_server.url}

    assert speaks()


def test_a_cluster_url_carries_jobs_of_queues_in_all_slots(
    settings: Settings, cluster: Cluster
) -> None:
    settings.ECHOMQ = {"CONNECTION": cluster.url}

    assert all(speaks(name) for name in ("orders", "payments", "default"))


def test_a_sentinel_url_carries_jobs(settings: Settings, sentinel: Sentinel) -> None:
    settings.ECHOMQ = {"CONNECTION": sentinel.url}

    assert speaks()


def test_the_embedded_server_starts_when_it_is_needed(settings: Settings, tmp_path: Path) -> None:
    settings.ECHOMQ = {"CONNECTION": "embedded", "EMBEDDED": {"FOLDER": tmp_path / "valkey"}}
    try:
        before = embedded_server().status().running

        assert speaks()
        assert not before
        assert embedded_server().status().running
        assert address() == embedded_server().url
    finally:
        embedded_server().stop()


def test_an_alias_on_the_embedded_socket_brings_its_server_back(
    settings: Settings, tmp_path: Path
) -> None:
    settings.BASE_DIR = tmp_path
    alias(settings, embedded_server().url)
    settings.ECHOMQ = {"CONNECTION": "queue", "PATIENCE": 5}
    try:
        assert speaks()
        embedded_server().stop()
        assert speaks()
    finally:
        embedded_server().stop()


def test_a_cluster_that_is_away_fails_by_name_in_its_time(settings: Settings) -> None:
    settings.ECHOMQ = {"CONNECTION": "redis+cluster://:secret@127.0.0.1:1", "PATIENCE": 0.3}

    with pytest.raises(ServerUnavailable) as failed:
        wire()

    assert "no server answered at redis+cluster://:***@127.0.0.1:1 within 0.3 s" in str(
        failed.value
    )
    assert "secret" not in str(failed.value)


def test_threads_share_one_wire(settings: Settings, engine_server: Server) -> None:
    settings.ECHOMQ = {"CONNECTION": engine_server.url}
    start = threading.Barrier(8)
    found: list[object] = []

    def look() -> None:
        start.wait()
        found.append(wire())

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8
    assert len({id(one) for one in found}) == 1
    assert new_wire() is not wire()


def test_a_changed_connection_is_used_at_once(
    settings: Settings, engine_server: Server, fresh_server: Server
) -> None:
    settings.ECHOMQ = {"CONNECTION": engine_server.url}
    speaks()
    introduce("default")

    settings.ECHOMQ = {"CONNECTION": fresh_server.url}
    speaks()
    introduce("default")

    assert fresh_server.ask("SCARD", "{emq}:queues") == 1
    assert queue_named("default").pending_size() == 1


def test_introducing_a_queue_lists_it_and_draws_a_node_once(
    settings: Settings, engine_server: Server
) -> None:
    settings.ECHOMQ = {"CONNECTION": engine_server.url}
    engine_server.ask("SET", "{emq}:nodes", 1023 + 41)

    introduce("mail")
    introduce("mail")

    assert server_bus().known_queues() == ["mail"]
    assert minter().node == 41
    assert engine_server.ask("GET", "{emq}:nodes") == b"1065"


def test_a_node_of_the_settings_is_kept(settings: Settings, engine_server: Server) -> None:
    settings.ECHOMQ = {"CONNECTION": engine_server.url, "NODE_ID": 7}

    introduce("mail")

    assert minter().node == 7
    assert engine_server.ask("EXISTS", "{emq}:nodes") == 0


def forked(case: str, url: str) -> str:
    """What ``tests.django.forking`` tells of a case."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.django.forking", case, url]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return (ran.stdout + ran.stderr).strip()


def test_after_a_fork_nothing_is_shared(engine_server: Server) -> None:
    assert forked("after-use", engine_server.url) == (
        "own connection True, fresh True, speaks True, parent speaks True"
    )


def test_a_child_of_a_process_that_was_building_can_build(engine_server: Server) -> None:
    assert forked("while-building", engine_server.url) == "speaks True"


async def enqueue_once() -> Admission:
    return await async_queue_named("default").enqueue(Minter().mint(), b"{}")


def test_each_event_loop_has_a_wire_of_its_own(settings: Settings, engine_server: Server) -> None:
    settings.ECHOMQ = {"CONNECTION": engine_server.url}

    async def look() -> tuple[int, bool, Admission]:
        return id(async_wire()), async_wire() is async_wire(), await enqueue_once()

    first, second = asyncio.run(look()), asyncio.run(look())

    assert (first[1:], second[1:]) == ((True, Admission.ADMITTED), (True, Admission.ADMITTED))
    assert queue_named("default").pending_size() == 2


def test_wires_of_ended_loops_are_let_go(settings: Settings, engine_server: Server) -> None:
    settings.ECHOMQ = {"CONNECTION": engine_server.url}
    seen: list[weakref.ref[Any]] = []

    async def look() -> None:
        await enqueue_once()
        seen.append(weakref.ref(async_wire()))

    for _ in range(3):
        asyncio.run(look())

    def let_go(count: int) -> bool:
        gc.collect()
        return [one() is None for one in seen] == [True] * count + [False] * (3 - count)

    assert eventually(lambda: let_go(2))
    forget()
    assert eventually(lambda: let_go(3))


def test_an_alias_is_awaited_on_the_same_server(settings: Settings, engine_server: Server) -> None:
    alias(settings, engine_server.url, CONNECTION_POOL_KWARGS={"decode_responses": True})

    assert asyncio.run(enqueue_once()) is Admission.ADMITTED
    assert queue_named("default").pending_size() == 1


def test_a_cluster_and_a_service_are_awaited(
    settings: Settings, cluster: Cluster, sentinel: Sentinel
) -> None:
    for url in (cluster.url, sentinel.url):
        settings.ECHOMQ = {"CONNECTION": url}

        assert asyncio.run(enqueue_once()) is Admission.ADMITTED
        assert queue_named("default").pending_size() == 1


def test_a_sentinel_alias_carries_jobs_and_is_not_awaited(
    settings: Settings, sentinel: Sentinel
) -> None:
    watchers = [("127.0.0.1", watcher.port) for watcher in sentinel.watchers]
    alias(
        settings,
        f"redis://{sentinel.service}/0",
        CLIENT_CLASS="django_redis.client.SentinelClient",
        SENTINELS=watchers,
    )
    settings.DJANGO_REDIS_CONNECTION_FACTORY = "django_redis.pool.SentinelConnectionFactory"

    assert speaks()
    with pytest.raises(ImproperlyConfigured, match="has no asyncio counterpart: name a URL"):
        asyncio.run(enqueue_once())


@pytest.mark.parametrize(
    ("connection", "shown"),
    [
        ("redis://me:secret@127.0.0.1:1/0?password=secret", "redis://me:***@127.0.0.1:1/0"),
        ("queue", "CACHES['queue'] (127.0.0.1:1 database 0)"),
    ],
)
def test_the_address_has_no_secret(settings: Settings, connection: str, shown: str) -> None:
    alias(settings, "redis://me:secret@127.0.0.1:1/0")
    settings.ECHOMQ = {"CONNECTION": connection, "PATIENCE": 0.05}

    assert address() == shown
    with pytest.raises(ServerUnavailable) as failed:
        queue_named("default").pending_size()
    assert "secret" not in str(failed.value)


def test_a_wrong_password_is_told_at_once_without_it(
    settings: Settings, fresh_server: Server
) -> None:
    fresh_server.ask("CONFIG", "SET", "requirepass", "right")
    settings.ECHOMQ = {"CONNECTION": f"unix://:wrong@{fresh_server.socket_path}", "PATIENCE": 30}

    with pytest.raises(Exception, match="denied access") as failed:
        queue_named("default").pending_size()

    assert "wrong" not in str(failed.value).replace("WRONGPASS", "")
    assert not isinstance(failed.value, redis.RedisError)
