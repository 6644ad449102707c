"""The shop: as a demo that runs, and as a site inside the test process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.demo.running import ROOT, RunningDemo
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings


@pytest.fixture(scope="session")
def demo() -> Iterator[RunningDemo]:
    """A demo that is ready; who uses it must leave it running."""
    with closing(RunningDemo()) as running:
        yield running.started()


@pytest.fixture
def shop_queues(engine_server: Server, settings: Settings, transactional_db: None) -> str:
    """The shop's site with its queues on a server for tests, empty; the server's URL."""
    settings.ROOT_URLCONF = "project.urls"
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [ROOT / "templates"]}]
    settings.SHOP_WEBHOOK_ORIGIN = "http://127.0.0.1:1"
    settings.ECHOMQ = {"CONNECTION": engine_server.url, "PATIENCE": 0.3}
    settings.TASKS = {
        "default": {
            "BACKEND": "echomq_app.backend.EchoMQBackend",
            "QUEUES": ["default", "webhooks", "mail"],
        }
    }
    return engine_server.url
