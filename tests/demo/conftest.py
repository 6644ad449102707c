"""One demo that runs, shared by the tests that only look and order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.demo.running import RunningDemo


@pytest.fixture(scope="session")
def demo() -> Iterator[RunningDemo]:
    """A demo that is ready; who uses it must leave it running."""
    with closing(RunningDemo()) as running:
        yield running.started()
