"""A scene whose lossy wire is blocking or awaited, with every script loaded."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from echomq_app.wire.link import Wire
from tests.faults.chance import new_chance
from tests.faults.plant import Plant
from tests.faults.scene import Scene
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.wire.links import AwaitedWire, Gap, load_all


@pytest.fixture
def gap() -> Gap:
    """What happens between two sendings of the scene's lossy wire."""
    return Gap()


@pytest.fixture(params=["blocking", "awaited"])
def scene(
    request: pytest.FixtureRequest, engine_server: Server, proxy: CuttingProxy, gap: Gap
) -> Iterator[Scene]:
    load_all(engine_server)
    if request.param == "blocking":
        yield Scene(engine_server.client(), Wire(proxy.client(), sleep=gap))
        return
    wire = AwaitedWire(proxy.async_client(), gap=gap)
    yield Scene(engine_server.client(), wire)
    wire.close()


@pytest.fixture
def chance() -> random.Random:
    """What is random in a test; its seed is told."""
    return new_chance()


@pytest.fixture
def plant(engine_server: Server, chance: random.Random) -> Iterator[Plant]:
    """A site under faults on the default engine's server."""
    with Plant(engine_server, chance) as plant:
        yield plant
