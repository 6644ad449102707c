from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.protocol.scene import Scene
from tests.servers.server import Server


@pytest.fixture
def scene(every_engine: Server) -> Iterator[Scene]:
    """The queue ``q`` on each engine in turn, empty."""
    client = every_engine.client()
    yield Scene(client)
    client.close()
