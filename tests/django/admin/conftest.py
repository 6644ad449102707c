"""Operators with different permissions, and queues on the default engine's server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from echomq_app.connections import queue_named
from echomq_app.service.queue import Queue
from tests.django.admin.jobs import connect
from tests.servers.server import Server

Enter = Callable[..., Client]

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings


@pytest.fixture
def server(engine_server: Server, settings: Settings) -> Server:
    """The server that the settings name, with the queue ``default`` in the settings."""
    connect(settings, engine_server.url, "default")
    return engine_server


@pytest.fixture
def queue(server: Server) -> Queue:
    """The queue ``default``, empty."""
    return queue_named("default")


@pytest.fixture
def enter(db: None) -> Enter:
    """Log in as a member of staff who has the named permissions."""

    def enter(*codenames: str) -> Client:
        user = User.objects.create_user("-".join(("op", *codenames)), is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        assert user.user_permissions.count() == len(codenames)
        client = Client()
        client.force_login(user)
        return client

    return enter


@pytest.fixture
def viewer(enter: Enter) -> Client:
    """One who may look and nothing else."""
    return enter("view_queue")


@pytest.fixture
def operator(enter: Enter) -> Client:
    """One who may do everything."""
    return enter("view_queue", "pause_queue", "requeue_job", "remove_job")
