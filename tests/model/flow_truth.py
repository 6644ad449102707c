"""What must be true of flows on two queues, told from the description and not from the scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from echomq_app.service.flow_tree import FlowJob


class Where(StrEnum):
    """Where a job of a flow is; ``held`` waits for children, in no set."""

    HELD = "held"
    PENDING = "pending"
    ACTIVE = "active"
    DEAD = "dead"
    DONE = "done"
    REMOVED = "removed"


class News(NamedTuple):
    """What a child tells a parent on another queue."""

    child: str
    done: bool


@dataclass
class Node:
    """One job of a flow, and what it knows of its children as a parent."""

    job: FlowJob
    queue: str
    parent: Node | None
    where: Where
    processed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    unsuccessful: set[str] = field(default_factory=set)
    forced: bool = False
    """An operator let it run whatever its children came to."""

    @property
    def left(self) -> int:
        return len(self.job.children) - len(self.processed) - len(self.unsuccessful)

    @property
    def ended(self) -> bool:
        return self.where in (Where.DONE, Where.REMOVED)


class FlowTruth:
    """Every job of every flow, and the outbox of each queue."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.tops: list[FlowJob] = []
        self.outbox: dict[str, list[News]] = {}

    def add(self, job: FlowJob, queue: str = "", parent: Node | None = None) -> None:
        """A flow came in whole."""
        if parent is None:
            self.tops.append(job)
        queue = job.queue or queue
        where = Where.HELD if job.children else Where.PENDING
        node = self.nodes[job.job_id] = Node(job, queue, parent, where)
        for child in job.children:
            self.add(child, queue, node)

    def at(self, where: Where, queue: str = "") -> list[str]:
        """The ids that are somewhere, on one queue or on any, in mint order."""
        found = (one for one in self.nodes.values() if one.where is where)
        return sorted(one.job.job_id for one in found if queue in ("", one.queue))

    def living(self) -> int:
        """How many jobs have not ended."""
        return sum(not node.ended for node in self.nodes.values())

    def below(self, job: FlowJob) -> Iterator[Node]:
        """The nodes of a flow."""
        yield self.nodes[job.job_id]
        for child in job.children:
            yield from self.below(child)

    def end(self, job_id: str, where: Where) -> None:
        """A job is done, dead or removed: its parent hears of it."""
        node = self.nodes[job_id]
        node.where = where
        self._tell(node, done=where is Where.DONE)

    def _tell(self, node: Node, *, done: bool) -> None:
        if node.parent is None:
            return
        if node.parent.queue != node.queue:
            self.outbox.setdefault(node.queue, []).append(News(node.job.job_id, done))
        else:
            self.hear(News(node.job.job_id, done))

    def hear(self, news: News) -> None:
        """A parent hears of a child; a completion outweighs what else was told."""
        child = self.nodes[news.child]
        parent, name = child.parent, child.job.job_id
        assert parent is not None
        if parent.ended or name in parent.processed:
            return
        if news.done:
            parent.processed.add(name)
            parent.failed.discard(name)
            parent.unsuccessful.discard(name)
        elif child.job.ignore_failure:
            parent.unsuccessful.add(name)
        elif name not in parent.failed:
            parent.failed.add(name)
            if parent.where is Where.HELD:
                self.end(parent.job.job_id, Where.DEAD)
        if parent.where is Where.HELD and parent.left <= 0:
            parent.where = Where.PENDING

    def check(self, found: dict[str, Any], names: dict[str, str]) -> None:
        """Hold the values of the server's keys against all this; ``names``: each queue's base."""
        for queue, base in names.items():
            for where in (Where.PENDING, Where.ACTIVE, Where.DEAD):
                members = found.get(base + where, [])
                assert sorted(members) == self.at(where, queue), f"{where} of {queue}"
            told = len(found.get(base + "flow:outbox", []))
            assert told == len(self.outbox.get(queue, [])), f"outbox of {queue}"
        for node in self.nodes.values():
            self._check_row(found, f"{names[node.queue]}job:{node.job.job_id}", node)
        places = Counter(job for key in found for job in self.nodes if key.endswith(f"job:{job}"))
        assert max(places.values(), default=1) == 1

    def _check_row(self, found: dict[str, Any], row: str, node: Node) -> None:
        name = node.job.job_id
        if node.ended:
            left = [key for key in found if key.startswith(row)]
            assert left == [], f"{name} is {node.where} and left {left}"
            return
        assert row in found, f"{name} is {node.where} and has no row"
        state = found[row]["state"]
        assert state == {Where.HELD: "awaiting_children"}.get(node.where, node.where), name
        if not node.job.children:
            return
        for kind in ("processed", "failed", "unsuccessful"):
            known = set(found.get(f"{row}:{kind}", {}))
            assert known == getattr(node, kind), f"{kind} of {name}"
        assert int(found[row + ":dependencies"]) == node.left, f"children of {name}"
        if node.where in (Where.PENDING, Where.ACTIVE) and not node.forced:
            assert node.left == 0, f"{name} runs on a part of its children"
