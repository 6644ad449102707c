from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.scene import Scene
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.wire.links import load_all


@pytest.fixture
def scene_of(engine_server: Server, proxy: CuttingProxy) -> Callable[..., Scene]:
    """Makes a scene whose worker speaks through the proxy, with every script loaded."""
    load_all(engine_server)

    def scene_of(*names: str, **options: Any) -> Scene:
        return Scene(engine_server.client(), proxy.client(), *names, **options)

    return scene_of


@pytest.fixture
def scene(scene_of: Callable[..., Scene]) -> Scene:
    """One queue, and a worker of eight slots."""
    return scene_of()
