"""The page about flows does what it says."""

from __future__ import annotations

import re
from typing import Any

from checks.tree import ROOT
from echomq_app.protocol import payload
from echomq_app.protocol.states import State
from echomq_app.service.flow_tree import MOST_LEVELS
from tests.protocol.flows import complete
from tests.protocol.scene import Scene
from tests.servers.server import Server

PAGE = (ROOT / "docs" / "how-to" / "flows.md").read_text()
ADD, READ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_code_of_the_page_adds_a_flow_and_reads_what_its_parent_knows(
    engine_server: Server,
) -> None:
    reports, slow = Scene(engine_server.client(), "reports"), Scene(engine_server.client(), "slow")
    names: dict[str, Any] = {"client": engine_server.client()}

    exec(ADD, names)
    for scene in (reports, reports, slow):
        held = scene.claim()
        assert payload.decode(held.payload).task.startswith("shop.tasks.")
        complete(scene, held, b"value")
    exec(READ, names)

    assert names["found"].left == 1
    assert set(names["found"].values.values()) == {b"value"}
    names["flows"].carry("slow")
    assert reports.queue.state(names["report"].job_id) is State.PENDING
    assert names["flows"].children("reports", names["report"].job_id).left == 0


def test_the_depth_that_the_page_names_is_the_code_s() -> None:
    assert MOST_LEVELS == 8
    assert "eight levels at most" in PAGE
