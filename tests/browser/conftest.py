"""A real browser on a live site whose policy forbids inline styles and scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from selenium.webdriver import Chrome

from echomq_app.connections import queue_named
from echomq_app.service.queue import Queue
from tests.chromium import chromium
from tests.django.admin.jobs import connect
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings
    from pytest_django.live_server_helper import LiveServer

PASSWORD = "correct horse"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chrome]:
    with chromium(tmp_path) as chrome:
        yield chrome


@pytest.fixture
def site(engine_server: Server, settings: Settings, live_server: LiveServer) -> str:
    """The address of the live site; its queue server is the default engine's."""
    connect(settings, engine_server.url, "default", "mail")
    User.objects.create_superuser("olga", password=PASSWORD)
    return str(live_server.url)


@pytest.fixture
def queue(site: str) -> Queue:
    """The queue ``default``, empty."""
    return queue_named("default")
