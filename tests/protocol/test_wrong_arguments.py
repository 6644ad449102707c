"""A word where a number belongs, in each argument of each script."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.protocol.cases import Case
from tests.protocol.scene import Scene
from tests.protocol.spoiling import ACCEPTED, faults, save
from tests.servers.server import Server

WRONG = ("x", "-1", "1.5", "", "1e400", "nan")


@pytest.fixture
def scene(engine_server: Server) -> Scene:
    return Scene(engine_server.client())


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.title)
def test_a_wrong_argument_is_refused_by_name_with_nothing_half_written(
    scene: Scene, case: Case
) -> None:
    call = case.build(scene)
    saved = save(scene.client)
    found = []

    for place in range(len(call.args)):
        for wrong in WRONG:
            saved.restore(scene.client)
            words = (*call.args[:place], wrong, *call.args[place + 1 :])
            told = f"ARGV[{place + 1}] is {wrong!r}"
            found += faults(scene, replace(call, args=words), told, named=True)

    assert found == []
