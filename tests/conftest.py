"""Fixtures that hand out real servers: one of each engine a test process, emptied for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.servers.cluster import Cluster
from tests.servers.engines import DEFAULT, ENGINE_NAMES, any_engine, engine
from tests.servers.parts import CLUSTER_ENGINES, Parts
from tests.servers.postgresql import PostgreSQL
from tests.servers.proxy import CuttingProxy
from tests.servers.sentinel import Sentinel
from tests.servers.server import Server


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Parts(), "parts")


@pytest.fixture(scope="session")
def _server_of() -> Iterator[Callable[[str], Server]]:
    with ExitStack() as running:
        servers: dict[str, Server] = {}

        def server_of(name: str) -> Server:
            if name not in servers:
                servers[name] = running.enter_context(Server(engine(name)))
            return servers[name]

        yield server_of


@pytest.fixture
def engine_server(_server_of: Callable[[str], Server]) -> Server:
    """The default engine's server, empty."""
    server = _server_of(DEFAULT)
    server.flush()
    return server


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.part(name)) for name in ENGINE_NAMES])
def every_engine(request: pytest.FixtureRequest, _server_of: Callable[[str], Server]) -> Server:
    """Each engine's server in turn, empty."""
    server = _server_of(request.param)
    server.flush()
    return server


@pytest.fixture
def proxy(engine_server: Server) -> Iterator[CuttingProxy]:
    """A proxy before the default engine's empty server, no trap armed."""
    with CuttingProxy(engine_server.socket_path) as proxy:
        yield proxy


@pytest.fixture
def fresh_server() -> Iterator[Server]:
    """A default engine's server for this test alone, to kill, freeze or reconfigure."""
    with Server(engine(DEFAULT)) as server:
        yield server


@pytest.fixture(scope="session")
def _postgresql() -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        yield server


@pytest.fixture
def postgresql(_postgresql: PostgreSQL) -> PostgreSQL:
    """A PostgreSQL with two empty databases; started again after a test that stopped it."""
    if not _postgresql.alive:
        _postgresql.start()
    _postgresql.empty()
    return _postgresql


@pytest.fixture(scope="session")
def _cluster() -> Iterator[Cluster]:
    found = any_engine(*CLUSTER_ENGINES)
    assert found is not None
    with Cluster(found) as cluster:
        yield cluster


@pytest.fixture
def cluster(_cluster: Cluster) -> Cluster:
    """Three masters, empty, no move open."""
    _cluster.flush()
    return _cluster


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.part(name)) for name in (*ENGINE_NAMES, "cluster")]
)
def every_deployment(
    request: pytest.FixtureRequest, _server_of: Callable[[str], Server]
) -> Server | Cluster:
    """Each engine's server and then the cluster, empty: all have ``client`` and ``url``."""
    if request.param == "cluster":
        cluster: Cluster = request.getfixturevalue("cluster")
        return cluster
    server = _server_of(request.param)
    server.flush()
    return server


@pytest.fixture(scope="session")
def _sentinels() -> Iterator[list[Sentinel]]:
    running: list[Sentinel] = []
    yield running
    for sentinel in running:
        sentinel.close()


@pytest.fixture
def sentinel(_sentinels: list[Sentinel]) -> Sentinel:
    """A watched master and replica, empty; started anew after a test that broke them."""
    if _sentinels and not _sentinels[0].untouched:
        _sentinels.pop().close()
    if not _sentinels:
        found = any_engine(*CLUSTER_ENGINES)
        assert found is not None
        _sentinels.append(Sentinel(found).__enter__())
    _sentinels[0].flush()
    return _sentinels[0]
