"""A wire to the default engine through a proxy: blocking, then awaited."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from echomq_app.protocol.script import every_verb, script
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.protocol.scene import Scene
from tests.servers.proxy import CuttingProxy
from tests.servers.reach import OnSocket
from tests.servers.server import Server
from tests.wire.links import AwaitedWire, Gap

WireTo = Callable[..., Wire]


@pytest.fixture
def gap() -> Gap:
    """What happens between two sendings of the wires that ``wire_to`` makes."""
    return Gap()


@pytest.fixture(params=["blocking", "awaited"])
def wire_to(request: pytest.FixtureRequest, gap: Gap) -> Iterator[WireTo]:
    """Makes a wire to a server or a proxy: ``wire_to(place, bus, **client_options)``."""
    awaited: list[AwaitedWire] = []

    def make(place: OnSocket, bus: Bus | None = None, **options: object) -> Wire:
        if request.param == "blocking":
            return Wire(place.client(**options), bus, sleep=gap)
        awaited.append(AwaitedWire(place.async_client(**options), bus, gap=gap))
        return awaited[-1]

    yield make
    for wire in awaited:
        wire.close()


@pytest.fixture
def beside(engine_server: Server) -> Iterator[Scene]:
    """A client that goes past the proxy, to set scenes uncounted."""
    client = engine_server.client()
    for verb in every_verb():
        client.script_load(script(verb).text)
    yield Scene(client)
    client.close()


@pytest.fixture
def queue(proxy: CuttingProxy) -> Iterator[Queue]:
    """The queue through the proxy, its connection open and its fence read."""
    client = proxy.client()
    queue = Queue(Wire(client), "q")
    queue.pending_size()
    yield queue
    client.close()
