"""A key of another type, or a number that is none, under each key that a script touches."""

from __future__ import annotations

import pytest

from tests.protocol.cases import Case
from tests.protocol.scene import Scene
from tests.protocol.spoiling import ACCEPTED, faults, save, touched_keys
from tests.servers.server import Server


@pytest.fixture
def scene(engine_server: Server) -> Scene:
    return Scene(engine_server.client())


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.title)
def test_a_key_of_another_type_is_refused_with_nothing_half_written(
    scene: Scene, case: Case
) -> None:
    call = case.build(scene)
    saved = save(scene.client)
    found = []

    for key in touched_keys(scene, call):
        saved.restore(scene.client)
        wrong = "list" if scene.client.type(key) == b"string" else "string"
        scene.client.delete(key)
        scene.client.lpush(key, "x") if wrong == "list" else scene.client.set(key, "x")
        found += faults(scene, call, f"{key} is a {wrong}")

    assert found == []


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.title)
def test_a_number_that_is_none_is_refused_with_nothing_half_written(
    scene: Scene, case: Case
) -> None:
    call = case.build(scene)
    saved = save(scene.client)
    found = []

    for key in touched_keys(scene, call):
        saved.restore(scene.client)
        if scene.client.type(key) == b"hash":
            for field in scene.client.hkeys(key):
                saved.restore(scene.client)
                scene.client.hset(key, field, "x")
                found += faults(scene, call, f"{key} {field.decode()} is no number")
        elif scene.client.type(key) == b"string":
            scene.client.set(key, "x")
            found += faults(scene, call, f"{key} is no number")

    assert found == []
