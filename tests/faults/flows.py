"""Flows on the scene of lost replies."""

from __future__ import annotations

from echomq_app.protocol import calls
from echomq_app.protocol.calls import FlowPart
from echomq_app.protocol.ids import JobId
from echomq_app.protocol.states import Fate
from echomq_app.service.flow_tree import FlowJob
from echomq_app.service.flows import Flows
from tests.faults.scene import Scene

FAR = "elsewhere"
CHILD = "JOB0JZGkP9ARCC"


def flow_of(scene: Scene) -> Flows:
    """The verbs of flows over the lossy wire."""
    return Flows(scene.lossy.wire)


def new_flow(scene: Scene) -> FlowJob:
    """Three levels on the scene's queue, on no server yet."""
    (top, middle, leaf, other) = scene.new_jobs(4)
    below = FlowJob(
        job_id=middle[0], payload=middle[1], children=[FlowJob(job_id=leaf[0], payload=leaf[1])]
    )
    beside = FlowJob(job_id=other[0], payload=other[1])
    return FlowJob(job_id=top[0], payload=top[1], queue=scene.direct.name, children=[below, beside])


def far_flow(scene: Scene) -> FlowJob:
    """A top here that waits for two children elsewhere, on no server yet."""
    top, *below = scene.new_jobs(3)
    children = [FlowJob(job_id=one[0], payload=one[1], queue=FAR) for one in below]
    return FlowJob(job_id=top[0], payload=top[1], queue=scene.direct.name, children=children)


def held_parent(scene: Scene) -> JobId:
    """A parent that waits for one child elsewhere."""
    job_id, raw = scene.new_job()
    scene.direct.wire.run(calls.flow_add(scene.keys, [FlowPart(job_id, raw, children=1)]))
    return job_id


def tell(scene: Scene, parent: JobId) -> bool:
    """Its last child elsewhere is done."""
    call = calls.flow_deliver(scene.keys, parent, CHILD, Fate.DONE, b"far")
    return scene.lossy.wire.run(call)


def entry_told(scene: Scene) -> bytes:
    """An entry in the outbox that has been carried."""
    scene.client.rpush(scene.keys.outbox, "an entry")
    return b"an entry"
