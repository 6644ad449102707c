"""The harness itself: what it hands out is real, private and empty."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.eventually import eventually, stays
from tests.servers.cluster import Cluster
from tests.servers.sentinel import Sentinel
from tests.servers.server import Server


def test_each_engine_is_its_own_empty_process(every_engine: Server) -> None:
    client = every_engine.client()

    assert client.info("server")["process_id"] == every_engine.pid
    assert client.dbsize() == 0

    client.set("left", "behind")


def test_a_server_listens_on_a_short_socket_and_no_port(engine_server: Server) -> None:
    assert len(os.fsencode(engine_server.socket_path)) < 100
    assert engine_server.client().config_get("port") == {"port": "0"}


def test_a_dead_server_is_never_flushed(fresh_server: Server) -> None:
    fresh_server.kill()

    with pytest.raises(AssertionError, match="is dead"):
        fresh_server.flush()


def test_another_process_on_the_socket_is_never_flushed(
    fresh_server: Server, engine_server: Server
) -> None:
    engine_server.client().set("keep", "me")
    os.unlink(fresh_server.socket_path)
    os.symlink(engine_server.socket_path, fresh_server.socket_path)
    fresh_server.admin.connection_pool.disconnect()

    with pytest.raises(AssertionError, match="not served by our process"):
        fresh_server.flush()
    assert engine_server.client().get("keep") == b"me"


def test_a_killed_server_restarts_on_the_same_socket(fresh_server: Server) -> None:
    first = fresh_server.pid
    fresh_server.kill()
    with pytest.raises(redis.ConnectionError):
        fresh_server.client().ping()

    fresh_server.restart()

    assert fresh_server.pid != first
    assert fresh_server.client().ping()


def test_a_frozen_server_accepts_and_does_not_answer(fresh_server: Server) -> None:
    client = fresh_server.client(socket_timeout=0.1)
    fresh_server.freeze()
    with pytest.raises(redis.TimeoutError):
        client.ping()

    fresh_server.thaw()

    assert eventually(fresh_server.answers)


@pytest.mark.part("valkey-9")
def test_a_killed_test_process_takes_its_server_and_folder_along() -> None:
    script = """
from tests.servers.engines import DEFAULT, engine
from tests.servers.server import Server
server = Server(engine(DEFAULT)).start()
print(server.socket_path, flush=True)
input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        socket_path = process.stdout.readline().strip()
        client = redis.Redis(unix_socket_path=socket_path, retry=Retry(NoBackoff(), 0))
        assert client.ping()
        process.kill()

    eventually(lambda: not _pings(client), message="the server's end")
    eventually(lambda: not Path(socket_path).parent.exists(), message="the folder's removal")


def test_every_deployment_takes_a_key_and_gives_it_back_empty(
    every_deployment: Server | Cluster,
) -> None:
    client = every_deployment.client()

    assert client.get("k") is None
    assert client.set("k", "v")


def test_eventually_returns_the_first_true_value_and_names_the_last_false_one() -> None:
    values = iter([0, 0, 7])
    assert eventually(lambda: next(values)) == 7

    with pytest.raises(AssertionError, match=r"rain did not come within 0.02 s; last seen: \[\]"):
        eventually(list, within=0.02, message="rain")


def test_stays_fails_at_the_first_false_value() -> None:
    stays(lambda: True, for_=0.02)
    values = iter([True, True, False])

    with pytest.raises(AssertionError, match=r"peace ended after .* last seen: False"):
        stays(lambda: next(values), for_=5, message="peace")


def test_a_slot_moves_step_by_step_and_its_keys_with_it(cluster: Cluster) -> None:
    client = cluster.client()
    client.set("{moving}a", "1")
    slot = cluster.slot("{moving}a")
    source = cluster.owner(slot)
    target = next(node for node in cluster.nodes if node is not source)

    assert cluster.begin_migration(slot, target) is source
    with pytest.raises(redis.exceptions.AskError):
        source.client().get("{moving}new")
    assert client.get("{moving}a") == b"1"
    cluster.finish_migration(slot)

    assert cluster.owner(slot) is target
    assert client.get("{moving}a") == b"1"


def test_a_client_of_the_sentinels_writes_to_the_new_master_after_a_failover(
    sentinel: Sentinel,
) -> None:
    client = sentinel.client()
    client.set("kept", "1")
    assert sentinel.master.ask("WAIT", 1, 5000) == 1

    new = sentinel.fail_over()

    assert eventually(lambda: _written(client))
    assert new.client().get("kept") == b"1"
    assert new.client().get("after") == b"1"
    assert not sentinel.untouched


def test_a_broken_sentinel_is_replaced_by_a_whole_and_empty_one(sentinel: Sentinel) -> None:
    assert sentinel.untouched
    assert sentinel.client().dbsize() == 0


def _pings(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def _written(client: redis.Redis) -> bool:
    try:
        return bool(client.set("after", "1"))
    except (redis.ConnectionError, redis.exceptions.ReadOnlyError):
        return False
