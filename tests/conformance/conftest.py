from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.protocol.scene import Scene
from tests.servers.cluster import Cluster
from tests.servers.server import Server


@pytest.fixture
def scene(every_deployment: Server | Cluster, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A queue named after its scenario, on each engine and on the cluster, empty."""
    client = every_deployment.client()
    name = request.function.__name__.removeprefix("test_")
    yield Scene(client, f"conformance.{name}")
    client.close()
