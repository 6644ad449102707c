"""Markers that a foreign lock plane leaves on a job: we respect them and write none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from echomq_app.protocol.errors import Locked
from tests.protocol.scene import Scene
from tests.servers.server import Server

WITH_FIELD_EXPIRY = ("valkey-9", "redis-8")


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.part(name)) for name in WITH_FIELD_EXPIRY]
)
def scene(request: pytest.FixtureRequest, _server_of: object) -> Iterator[Scene]:
    """A queue on each engine whose hash fields can expire."""
    assert callable(_server_of)
    server = _server_of(request.param)
    assert isinstance(server, Server)
    server.flush()
    client = server.client()
    yield Scene(client, "conformance.locks")
    client.close()


def test_59_native_lock_refuses(scene: Scene) -> None:
    job_id = scene.enqueue()
    row = scene.keys.row(job_id)
    scene.client.hset(row, "lock", "1")
    scene.client.hpexpire(row, 60_000, "lock")

    with pytest.raises(Locked, match=r"^EMQLOCK"):
        scene.queue.remove(job_id)
    assert scene.places(job_id) == ["pending"]

    assert scene.client.hpexpireat(row, 1, "lock") == [2]
    assert scene.fields(job_id, "state", "lock") == ["pending", None]
    assert scene.queue.remove(job_id) is True
