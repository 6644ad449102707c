"""The page on lanes: its blocks run, and it names every verb there is."""

from __future__ import annotations

import re
from typing import Any

import pytest

from checks.tree import ROOT
from echomq_app.service.lanes import Lanes
from tests.protocol.scene import Scene
from tests.servers.server import Server

PAGE = (ROOT / "docs" / "how-to" / "lanes.md").read_text()
SETUP, SERVE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def scene(engine_server: Server) -> Scene:
    return Scene(engine_server.client(), "reports")


def test_its_blocks_work(scene: Scene) -> None:
    made: list[tuple[str, bytes]] = []
    reader: dict[str, Any] = {
        "client": scene.client,
        "make_report": lambda *report: made.append(report),
    }
    exec(SETUP.replace("redis.Redis()", "client"), reader)
    exec(SERVE, reader)

    assert reader["serve"]() is True
    assert reader["serve"]() is False

    assert made == [("CUS00000000007", b'{"month": 5}')]
    assert scene.lanes.known() == []


def test_a_report_that_fails_is_tried_again(scene: Scene) -> None:
    reader: dict[str, Any] = {"client": scene.client}
    exec(SETUP.replace("redis.Redis()", "client"), reader)
    exec(SERVE, reader)

    reader["serve"]()

    (parked,) = scene.members("schedule")
    assert scene.fields(parked, "last_error") == ["name 'make_report' is not defined"]


def test_it_names_every_verb_of_lanes() -> None:
    verbs = {name for name in vars(Lanes) if not name.startswith("_")}

    assert [verb for verb in sorted(verbs) if not re.search(rf"\b{verb}\b", PAGE)] == []
