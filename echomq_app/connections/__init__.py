"""The one place that builds clients and services from settings."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar
from urllib.parse import quote

from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from echomq_app.conf import EMBEDDED, TEST_FOLDER, Settings, echomq_settings
from echomq_app.connections import clients, shared
from echomq_app.protocol.errors import EchoMQError, ServerUnavailable
from echomq_app.protocol.ids import Minter
from echomq_app.runtime.embedded import EmbeddedServer
from echomq_app.service.aio import AsyncQueue
from echomq_app.service.bus import ServerBus
from echomq_app.service.events import EventChannel, EventFeed
from echomq_app.service.queue import Queue
from echomq_app.service.streams import AsyncStream, Stream
from echomq_app.service.workers import Workers
from echomq_app.wire.aio import AsyncWire
from echomq_app.wire.exchange import Bus
from echomq_app.wire.failures import BROKEN
from echomq_app.wire.link import Wire

__all__ = [
    "address",
    "async_queue_named",
    "async_stream_named",
    "connection_named",
    "embedded_server",
    "event_channel",
    "event_feed",
    "forget",
    "introduce",
    "minter",
    "new_wire",
    "queue_named",
    "server_bus",
    "stream_named",
    "wire",
    "workers",
]

T = TypeVar("T")
REBUILD_PAUSE_S: Final = 0.1

_building = threading.RLock()
_introduced: set[str] = set()
_async_wires: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncWire] = (
    weakref.WeakKeyDictionary()
)


def _bus(found: Settings) -> Bus:
    return Bus(
        claim_version=found.fence.claim,
        accept_versions=found.fence.accept,
        patience_s=found.patience.total_seconds(),
    )


def embedded_server() -> EmbeddedServer:
    """The project's embedded server, started or not."""
    found = echomq_settings().embedded
    if found.folder is None:
        raise ImproperlyConfigured('ECHOMQ["EMBEDDED"]["FOLDER"] is missing.')
    return EmbeddedServer(found.folder, found.binary)


def connection_named() -> str:
    """The alias, URL or ``embedded`` that the settings name; ``ImproperlyConfigured`` for none."""
    found = echomq_settings()
    if found.connection is not None:
        return found.connection
    if found.wants_embedded:
        return EMBEDDED
    raise ImproperlyConfigured(
        'ECHOMQ["CONNECTION"] is missing and DEBUG is False: name a django-redis alias, a URL, or '
        "'embedded' to run a server inside the project on purpose."
    )


def _alias_client(alias: str) -> clients.Client:
    from django.core.cache import InvalidCacheBackendError
    from django_redis import get_redis_connection

    try:
        client: clients.Client = get_redis_connection(alias)
    except (InvalidCacheBackendError, NotImplementedError) as error:
        raise ImproperlyConfigured(
            f'ECHOMQ["CONNECTION"] is {alias!r}, which is no django-redis alias in CACHES ({error}); '
            "name one, or a URL, or 'embedded'."
        ) from error
    return client


def _client() -> tuple[clients.Client, Callable[[], object] | None]:
    """The client, and what brings its server back when that is ours to do."""
    connection = connection_named()
    if connection == EMBEDDED:
        server = embedded_server()
        url = server.ensure()
        if server.folder.name == TEST_FOLDER:
            atexit.register(server.stop)
        return clients.client_from_url(url), server.ensure
    if clients.is_url(connection):
        return clients.client_from_url(connection), None
    client = _alias_client(connection)
    server = embedded_server()
    path = client.connection_pool.connection_kwargs.get("path")  # type: ignore[union-attr]  # no cluster
    if path is not None and server.url == f"unix://{quote(path)}":
        return client, server.ensure
    return client, None


def new_wire() -> Wire:
    """A wire on the configured server. Most callers share ``wire()``."""
    found = echomq_settings()
    client, revive = _patiently(_client, found.patience.total_seconds())
    return Wire(client, _bus(found), revive=revive)


def _patiently(build: Callable[[], T], seconds: float) -> T:
    """A cluster's client asks its nodes as it is built: try while there is time."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return build()
        except BROKEN as cause:
            if time.monotonic() + REBUILD_PAUSE_S > deadline:
                raise ServerUnavailable(
                    f"no server answered at {address()} within {seconds:g} s: {cause}"
                ) from cause
        time.sleep(REBUILD_PAUSE_S)


@cache
def _wire() -> Wire:
    return new_wire()


def wire() -> Wire:
    """The wire that this process shares between its threads."""
    with _building:
        return _wire()


def async_wire() -> AsyncWire:
    """The wire of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _async_wires.get(loop)
    if found is None:
        for ended in [one for one in _async_wires if one.is_closed()]:
            del _async_wires[ended]
        settings = echomq_settings()
        connection = connection_named()
        if connection == EMBEDDED:
            client = clients.async_client_from_url(embedded_server().ensure())
        elif clients.is_url(connection):
            client = clients.async_client_from_url(connection)
        else:
            client = clients.async_client_beside(_alias_client(connection))
        found = _async_wires[loop] = AsyncWire(client, _bus(settings))
    return found


def queue_named(name: str) -> Queue:
    """The verbs of a queue on the configured server; ``InvalidQueueName`` for a name that none has."""
    return Queue(wire(), name, minter=minter())


def async_queue_named(name: str) -> AsyncQueue:
    """The awaited verbs of a queue, for the running event loop."""
    return AsyncQueue(async_wire(), name)


def stream_named(queue: str, name: str) -> Stream:
    """The verbs of a queue's stream on the configured server."""
    return Stream(wire(), queue, name, minter())


def async_stream_named(queue: str, name: str) -> AsyncStream:
    """The awaited verbs of a queue's stream, for the running event loop."""
    return AsyncStream(async_wire(), queue, name, minter())


def event_channel(queue: str) -> EventChannel:
    """Publishes events of a queue on the configured server."""
    return EventChannel(wire(), queue)


def event_feed(*queues: str) -> EventFeed:
    """Hears the events of some queues on the configured server; close it when done."""
    return EventFeed(wire(), queues)


def workers() -> Workers:
    """The processes that serve the configured server."""
    return Workers(wire())


def server_bus() -> ServerBus:
    """The verbs that no single queue owns, on the configured server."""
    return ServerBus(wire())


@cache
def minter() -> Minter:
    """The minter of this process; its node is a setting, else drawn from the server when it is met."""
    return Minter(echomq_settings().node_id)


def introduce(name: str) -> None:
    """Once a process and queue: list the queue as used, and draw a node id. Best effort."""
    if name in _introduced:
        return
    _introduced.add(name)
    bus = server_bus()
    bus.join(name)
    ours = minter()
    if ours.wants_node:
        try:
            ours.settle_on(bus.next_node())
        except EchoMQError:
            _introduced.discard(name)


def address() -> str:
    """Where the queues live, without secrets: for pages and logs."""
    connection = connection_named()
    if connection == EMBEDDED:
        return embedded_server().url
    if clients.is_url(connection):
        return clients.redacted(connection)
    place = shared.location(connection)
    return f"CACHES[{connection!r}] ({place})" if place else f"CACHES[{connection!r}]"


def forget() -> None:
    """Drop what was built; the next use builds anew from the settings of then."""
    _wire.cache_clear()
    minter.cache_clear()
    _introduced.clear()
    _async_wires.clear()


def _setting_changed(*, setting: str, **_: Any) -> None:
    if setting in ("ECHOMQ", "CACHES", "TASKS", "DEBUG", "BASE_DIR"):
        forget()


def _after_fork() -> None:
    """A thread of the parent that was building then holds the lock for ever."""
    global _building  # noqa: PLW0603  # a lock that is held cannot be freed here
    _building = threading.RLock()
    forget()


setting_changed.connect(_setting_changed)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
