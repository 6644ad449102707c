"""What the verbs of flows cost in round trips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from echomq_app.service.flow_tree import FlowJob
from echomq_app.service.flows import Flows
from tests.protocol.flows import FAR, add, job
from tests.protocol.scene import Scene

Act = Callable[[], Any]


def five_to_carry(scene: Scene, flows: Flows) -> Act:
    """Five children told parents on another queue."""
    home = Scene(scene.client, FAR)
    for _ in range(5):
        add(home, job(queue="q"))
        scene.queue.complete(scene.claim())
    return lambda: flows.carry("q")


def _add(flows: Flows, flow: FlowJob) -> Act:
    return lambda: flows.add(flow)


def _children(flows: Flows, flow: FlowJob) -> Act:
    return lambda: flows.children("q", flow.job_id)


FLOW_COSTS: Final[dict[str, tuple[int, Callable[[Scene, Flows], Act]]]] = {
    "add": (1, lambda _, flows: _add(flows, job(job(job()), job(), queue="q"))),
    "add over three queues": (
        3,
        lambda _, flows: _add(flows, job(job(job(queue="r"), queue=FAR), queue="q")),
    ),
    "add of what is there": (2, lambda scene, flows: _add(flows, add(scene, job()))),
    "add_many": (
        1,
        lambda _, flows: lambda: flows.add_many([job(job(), queue="q") for _ in range(9)]),
    ),
    "children": (1, lambda scene, flows: _children(flows, add(scene, job()))),
    "carry of nothing": (1, lambda _, flows: lambda: flows.carry("q")),
    "carry": (3, five_to_carry),
}
