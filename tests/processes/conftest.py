from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.processes.project import Project
from tests.servers.server import Server


@pytest.fixture
def project(engine_server: Server) -> Iterator[Project]:
    """The site on the default engine's server."""
    with Project(engine_server) as project:
        yield project
