"""Flows for tests: jobs of a tree, on the scene's queue unless told otherwise, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from echomq_app.protocol.calls import Retention
from echomq_app.service.flow_tree import FlowJob
from echomq_app.service.flows import Flows
from echomq_app.service.records import Lease
from tests.protocol.scene import Scene, new_id

FAR = "elsewhere"
"""A queue whose slot is another one than that of ``q``."""


def job(
    *children: FlowJob, queue: str = "", ignore: bool = False, payload: bytes | None = None
) -> FlowJob:
    """A new job that waits for ``children``; its payload is its own."""
    job_id = new_id()
    return FlowJob(
        job_id=job_id,
        payload=job_id.encode() if payload is None else payload,
        queue=queue,
        children=children,
        ignore_failure=ignore,
    )


def add(scene: Scene, *children: FlowJob) -> FlowJob:
    """A flow on the scene's queue whose top waits for ``children``."""
    flow = job(*children, queue=scene.name)
    Flows(scene.wire).add(flow)
    return flow


def ids(jobs: Sequence[FlowJob]) -> list[str]:
    return [one.job_id for one in jobs]


def complete(scene: Scene, held: Lease, result: bytes = b"r") -> None:
    """Finish a child with a result for its parent, and leave a receipt."""
    keep = Retention(mark="m", receipt_ms=60_000, outcome=result)
    scene.queue.complete(held, keep)


def bury(scene: Scene, held: Lease, error: str = "boom") -> None:
    """Its only attempt failed."""
    scene.queue.retry(held, delay=timedelta(), max_attempts=1, error=error)


def left(scene: Scene, parent: str) -> int:
    """How many children a parent waits for by its counter."""
    return int(scene.client.get(scene.keys.children(parent, "dependencies")))


def ends(scene: Scene, parent: str, kind: str) -> dict[str, str]:
    """What the parent knows of its children, by child: processed, failed or unsuccessful."""
    found = scene.client.hgetall(scene.keys.children(parent, kind))
    return {child.decode(): text.decode() for child, text in found.items()}
