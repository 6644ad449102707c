"""Scenarios of turns: who is served how often, and that nobody starves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from echomq_app.service.records import Lease
from tests.protocol.lanes import GROUP, OTHER, Books, books, turn, waits
from tests.protocol.scene import LONG, Scene

THIRD = "PRT0JZGkPbYKCf"


def served_in_turns(scene: Scene, claim: Callable[[], list[Lease]]) -> list[set[str]]:
    """The lane of each turn until nothing is left; each job is completed as it comes."""
    turns = []
    while held := claim():
        turns.append({one.lane for one in held})
        for one in held:
            scene.queue.complete(one)
    return turns


def test_60_weighted_proportion(scene: Scene) -> None:
    waits(scene, count=120)
    waits(scene, OTHER, count=120)
    scene.lanes.weight(GROUP, 3)

    held = [one for _ in range(40) for one in scene.lanes.claim_weighted(LONG)]

    tally = Counter(one.lane for one in held)
    assert tally[OTHER] > 0
    assert 2 <= tally[GROUP] / tally[OTHER] <= 4
    assert set(scene.members("active")) == {one.job_id for one in held}
    assert [books(scene, lane).running for lane in (GROUP, OTHER)] == [tally[GROUP], tally[OTHER]]


def test_61_starvation_drill(scene: Scene) -> None:
    waits(scene, count=200)
    waits(scene, OTHER, count=6)
    waits(scene, THIRD, count=6)
    scene.lanes.weight(GROUP, 5)

    turns = served_in_turns(scene, lambda: scene.lanes.claim_weighted(LONG))

    assert {OTHER, THIRD} <= set().union(*turns[:9])
    assert scene.lanes.depths([GROUP, OTHER, THIRD]) == {GROUP: 0, OTHER: 0, THIRD: 0}
    assert scene.members("active") == []


def test_68_grouped_batch_affinity(scene: Scene) -> None:
    mine = waits(scene, count=4)
    waits(scene, OTHER, count=4)

    held = turn(scene, 4)

    assert [one.job_id for one in held] == mine
    assert {scene.row(one.job_id)["group"] for one in held} == {GROUP}
    assert len({scene.score("active", one.job_id) for one in held}) == 1


def test_69_grouped_batch_ceiling(scene: Scene) -> None:
    jobs = waits(scene, count=8)
    scene.lanes.limit(GROUP, 3)

    held = turn(scene, 100)
    assert [one.job_id for one in held] == jobs[:3]
    assert books(scene) == Books(tuple(jobs[3:]), 3, False)
    assert turn(scene, 100) == []

    scene.queue.complete(held[0])
    assert [one.job_id for one in turn(scene, 100)] == jobs[3:4]


def test_70_grouped_batch_fairness(scene: Scene) -> None:
    for lane, count in ((GROUP, 40), (OTHER, 4), (THIRD, 4)):
        scene.lanes.limit(lane, 2)
        waits(scene, lane, count)

    turns = served_in_turns(scene, lambda: turn(scene, 100))

    assert all(len(lanes) == 1 for lanes in turns)
    assert set().union(*turns[:3]) == {GROUP, OTHER, THIRD}
    assert scene.lanes.depths([GROUP, OTHER, THIRD]) == {GROUP: 0, OTHER: 0, THIRD: 0}
    assert len(turns) == 24
