"""A site whose tasks go to EchoMQ queues on the default engine's server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core import mail
from django.db import connections
from django.db.utils import ConnectionHandler

from echomq_app.compat import HAS_BUILTIN_TASKS, TaskResult, task_backends, task_enqueued
from echomq_app.connections import queue_named
from echomq_app.runtime.held import Held, Loss
from echomq_app.service.queue import Queue
from tests.django.work import work
from tests.eventually import eventually
from tests.servers.postgresql import PostgreSQL
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.wire.links import load_all

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

IMMEDIATE = (
    "django.tasks.backends.immediate.ImmediateBackend"
    if HAS_BUILTIN_TASKS
    else "django_tasks.backends.immediate.ImmediateBackend"
)
BACKEND = "echomq_app.backend.EchoMQBackend"


@pytest.fixture
def on_postgresql(transactional_db: None, postgresql: PostgreSQL) -> Iterator[str]:
    """An alias that is an empty database on PostgreSQL for the time of a test that may use ``other``."""
    alias = "other"
    before, place = connections[alias], connections.settings[alias]
    connections.settings[alias] = ConnectionHandler({"default": postgresql.django()}).settings[
        "default"
    ]
    del connections[alias]
    yield alias
    connections[alias].close()
    connections[alias], connections.settings[alias] = before, place


@pytest.fixture
def in_production(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a site runs whose DEBUG is off and whom no test runner has prepared."""
    monkeypatch.delattr(mail, "outbox")
    settings.DEBUG = False


def point_at(settings: Settings, url: str, **more: Any) -> None:
    """Let the queues live at ``url``."""
    settings.ECHOMQ = {"CONNECTION": url, "PATIENCE": 0.3, **more}
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": ["default", "mail"]}}


@pytest.fixture
def site(engine_server: Server, settings: Settings) -> Iterator[Any]:
    """The tasks of ``tests.django.site``; their queues are empty."""
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "tests.django.site"]
    point_at(settings, engine_server.url)
    from tests.django.site import tasks

    tasks.seen.clear()
    tasks.go_on.clear()
    yield tasks
    tasks.go_on.set()


@pytest.fixture
def backend(site: Any) -> Any:
    return task_backends["default"]


@pytest.fixture
def queue(site: Any) -> Queue:
    """The queue ``default``."""
    return queue_named("default")


@pytest.fixture
def behind_proxy(
    site: Any, proxy: CuttingProxy, engine_server: Server, settings: Settings
) -> CuttingProxy:
    """The proxy through which the site reaches its server; its counts begin after the first job."""
    load_all(engine_server)
    settings.ECHOMQ = {**settings.ECHOMQ, "CONNECTION": proxy.url}
    for name in ("default", "mail"):
        queue_named(name).remove(site.add.using(queue_name=name).enqueue(0).id)
    proxy.reset()
    return proxy


@pytest.fixture
def enqueued() -> Iterator[list[str]]:
    """The ids that ``task_enqueued`` has told, in order."""
    told: list[str] = []

    def hear(task_result: TaskResult[Any], **_: Any) -> None:
        told.append(task_result.id)

    task_enqueued.connect(hear)
    yield told
    task_enqueued.disconnect(hear)


@pytest.fixture
def hold() -> Callable[[Queue], Held]:
    """Claim the only job that waits, as a worker holds it."""

    def hold(queue: Queue) -> Held:
        (lease,) = queue.claim_many(timedelta(minutes=1), 1, "host:1:0")
        now = time.monotonic()
        return Held(lease, now, Loss(now + 60))

    return hold


@pytest.fixture
def run(site: Any) -> Callable[..., TaskResult[Any]]:
    """Let a worker do all that waits; the result of the job that is given, read anew."""

    def run(result: TaskResult[Any], *queues: str, **options: Any) -> TaskResult[Any]:
        work(*queues, **options)
        return task_backends["default"].get_result(result.id)

    return run


@pytest.fixture
def finish(run: Callable[..., TaskResult[Any]]) -> Callable[..., TaskResult[Any]]:
    """Let a worker run until the job that is given has ended, its retries among it."""

    def finish(result: TaskResult[Any]) -> TaskResult[Any]:
        def ended() -> TaskResult[Any] | None:
            found = run(result)
            return found if found.is_finished else None

        found = eventually(ended, message=f"the end of {result.id}")
        assert found is not None
        return found

    return finish
