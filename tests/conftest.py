"""Fixtures that hand out real servers: one of each engine a test process, emptied for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.servers.cluster import Cluster
from tests.servers.engines import DEFAULT, ENGINE_NAMES, any_engine, engine
from tests.servers.parts import CLUSTER_ENGINES, Parts
from tests.servers.server import Server


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "part(name): needs this part, see tests/servers/parts.py")
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
def fresh_server() -> Iterator[Server]:
    """A default engine's server for this test alone, to kill, freeze or reconfigure."""
    with Server(engine(DEFAULT)) as server:
        yield server


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
