"""A flow as a tree of jobs, and the pieces of it that one script can admit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from echomq_app.protocol import calls
from echomq_app.protocol.calls import FlowPart
from echomq_app.protocol.errors import InvalidInput, WrongKind
from echomq_app.protocol.ids import valid_job_id
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Fate

MOST_LEVELS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowJob:
    """A job and those it waits for. ``queue`` is ``""`` for its parent's.

    ``ignore_failure``: its parent goes on when it dies; else the parent dies of it.
    """

    job_id: str
    payload: bytes
    queue: str = ""
    children: Sequence[FlowJob] = ()
    ignore_failure: bool = False


class Piece(NamedTuple):
    """The jobs of a flow that hang together on one queue, the uppermost first."""

    keys: QueueKeys
    parts: list[FlowPart]


class _Head(NamedTuple):
    """A job whose parent is on another queue, or that has none."""

    job: FlowJob
    queue: str
    parent: str
    parent_queue: str


def cut(flow: FlowJob) -> list[list[Piece]]:
    """The flow's pieces, by how many changes of queue lie above them.

    ``InvalidInput`` for what is no flow and ``WrongKind``, before any wire.
    """
    _check(flow)
    hops: list[list[Piece]] = []
    heads = [_Head(flow, flow.queue, "", "")]
    while heads:
        hops.append([])
        below: list[_Head] = []
        for head in heads:
            piece = Piece(QueueKeys(head.queue), [])
            _gather(piece, head, below)
            hops[-1].append(piece)
        heads = below
    return hops


def _gather(piece: Piece, head: _Head, below: list[_Head]) -> None:
    """Put a job into its piece, then its children there; those on other queues go below."""
    job = head.job
    fate = Fate.IGNORED if job.ignore_failure else Fate.FAILS
    part = (job.job_id, job.payload, head.parent, head.parent_queue, fate, len(job.children))
    piece.parts.append(FlowPart(*part))
    for child in job.children:
        queue = child.queue or head.queue
        if queue == head.queue:
            _gather(piece, _Head(child, queue, job.job_id, ""), below)
        else:
            below.append(_Head(child, queue, job.job_id, head.queue))


def _check(flow: FlowJob) -> None:
    if not flow.children:
        raise InvalidInput(f"a flow's parent has children and {flow.job_id!r} none: enqueue it")
    if not flow.queue:
        raise InvalidInput(f"the top of a flow names its queue and {flow.job_id!r} names none")
    seen: set[str] = set()
    for job, level in walk(flow):
        if level > MOST_LEVELS:
            raise InvalidInput(f"a flow has at most {MOST_LEVELS} levels; {job.job_id!r} is below")
        if not valid_job_id(job.job_id).startswith("JOB"):
            raise WrongKind(f"EMQKIND job id must be JOB-namespaced; got {job.job_id!r}")
        if job.job_id in seen:
            raise InvalidInput(f"a job stands once in a flow; {job.job_id!r} stands there twice")
        seen.add(job.job_id)
        if len(seen) > calls.MAX_BULK_JOBS:
            raise InvalidInput(f"a flow has at most {calls.MAX_BULK_JOBS} jobs; this one has more")


def walk(job: FlowJob, level: int = 1) -> Iterator[tuple[FlowJob, int]]:
    """Each job and its level, parents first, down to one level more than a flow may have."""
    yield job, level
    if level <= MOST_LEVELS:
        for child in job.children:
            yield from walk(child, level + 1)


def chunks(flows: Sequence[FlowJob]) -> Iterator[list[FlowJob]]:
    """Flows in pieces of at most 500 jobs or 1 MiB, unless one flow alone is larger."""
    chunk: list[FlowJob] = []
    jobs = size = 0
    for flow in flows:
        payloads = [len(job.payload) for job, _ in walk(flow)]
        jobs, size = jobs + len(payloads), size + sum(payloads)
        if chunk and (jobs > calls.MAX_BULK_JOBS or size > calls.MAX_BULK_BYTES):
            yield chunk
            chunk, jobs, size = [], len(payloads), sum(payloads)
        chunk.append(flow)
    if chunk:
        yield chunk
