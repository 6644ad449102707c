from __future__ import annotations

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import FlowPart
from echomq_app.protocol.states import Fate, State
from tests.protocol.flows import add, bury, complete, ends, job, left
from tests.protocol.scene import Scene, new_id


def held(scene: Scene, children: int = 1, **above: str) -> str:
    """A parent whose children are on another queue."""
    parent = new_id()
    part = FlowPart(parent, b"p", children=children)._replace(**above)  # type: ignore[arg-type]  # str fields
    scene.run(calls.flow_add(scene.keys, [part]))
    return parent


def tell(scene: Scene, parent: str, child: str, fate: Fate, text: bytes = b"told") -> bool:
    return scene.run(calls.flow_deliver(scene.keys, parent, child, fate, text))


def test_the_last_child_elsewhere_releases_its_parent_and_wakes_a_worker(scene: Scene) -> None:
    parent, child = held(scene, 2), new_id()

    assert tell(scene, parent, new_id(), Fate.DONE)
    assert scene.queue.state(parent) is State.AWAITING_CHILDREN
    assert tell(scene, parent, child, Fate.DONE, b"far")

    assert scene.places(parent) == ["pending"]
    assert scene.wakes() == 1
    assert ends(scene, parent, "processed")[child] == "far"


@pytest.mark.parametrize("fate", Fate)
def test_a_second_telling_changes_nothing(scene: Scene, fate: Fate) -> None:
    parent, child = held(scene, 3), new_id()
    assert tell(scene, parent, child, fate)
    before = scene.snapshot()

    assert not tell(scene, parent, child, fate, b"again")

    assert scene.snapshot() == before


@pytest.mark.parametrize("fate", Fate)
def test_nothing_is_written_for_a_parent_that_is_gone(scene: Scene, fate: Fate) -> None:
    scene.enqueue()
    before = scene.snapshot()

    assert not tell(scene, new_id(), new_id(), fate)

    assert scene.snapshot() == before


@pytest.mark.parametrize("fate", Fate)
def test_nothing_is_written_where_another_program_deleted_the_parent_s_row_alone(
    scene: Scene, fate: Fate
) -> None:
    parent = held(scene, 2)
    tell(scene, parent, new_id(), Fate.DONE)
    scene.client.delete(scene.keys.row(parent))
    before = scene.snapshot()

    assert not tell(scene, parent, new_id(), fate)

    assert scene.snapshot() == before


def test_a_child_that_died_elsewhere_fails_its_parent_with_the_reason(scene: Scene) -> None:
    parent, child = held(scene, 2), new_id()

    tell(scene, parent, child, Fate.FAILS, b"boom")

    assert scene.places(parent) == ["dead"]
    assert scene.fields(parent, "state", "last_error") == ["dead", f"its child {child} died: boom"]
    assert ends(scene, parent, "failed") == {child: "boom"}
    assert left(scene, parent) == 2


def test_the_ignored_death_of_the_last_child_releases_the_parent(scene: Scene) -> None:
    parent, child = held(scene), new_id()

    tell(scene, parent, child, Fate.IGNORED, b"boom")

    assert scene.places(parent) == ["pending"]
    assert ends(scene, parent, "unsuccessful") == {child: "boom"}


def test_a_failed_parent_whose_children_all_complete_stays_dead(scene: Scene) -> None:
    parent, child = held(scene, 2), new_id()
    tell(scene, parent, child, Fate.FAILS)

    tell(scene, parent, new_id(), Fate.DONE)
    tell(scene, parent, child, Fate.DONE, b"after all")

    assert scene.places(parent) == ["dead"]
    assert left(scene, parent) == 0
    assert ends(scene, parent, "failed") == {}
    assert ends(scene, parent, "processed")[child] == "after all"


def test_a_completion_outweighs_a_death_that_is_told_after_it(scene: Scene) -> None:
    parent, child = held(scene, 2), new_id()
    tell(scene, parent, child, Fate.DONE)

    assert not tell(scene, parent, child, Fate.FAILS)
    assert not tell(scene, parent, child, Fate.IGNORED)

    assert scene.queue.state(parent) is State.AWAITING_CHILDREN
    assert left(scene, parent) == 1


def test_a_child_that_died_ignored_and_then_completed_counts_once(scene: Scene) -> None:
    parent, child = held(scene, 2), new_id()
    tell(scene, parent, child, Fate.IGNORED)

    assert tell(scene, parent, child, Fate.DONE, b"after all")

    assert left(scene, parent) == 1
    assert ends(scene, parent, "unsuccessful") == {}
    assert ends(scene, parent, "processed") == {child: "after all"}


def test_a_parent_that_was_claimed_is_not_released_again(scene: Scene) -> None:
    parent, child = held(scene), new_id()
    tell(scene, parent, child, Fate.DONE)
    assert scene.claim().job_id == parent

    tell(scene, parent, new_id(), Fate.DONE)
    tell(scene, parent, new_id(), Fate.FAILS)

    assert scene.places(parent) == ["active"]


def test_a_death_climbs_every_level_of_the_queue_and_on_through_its_outbox(scene: Scene) -> None:
    above = new_id()
    top = held(scene, parent=above, parent_queue="other")
    middle = held(scene, parent=top)
    child = new_id()

    tell(scene, middle, child, Fate.FAILS, b"boom")

    assert scene.places(middle) == scene.places(top) == ["dead"]
    reason = f"its child {middle} died: its child {child} died: boom"
    assert scene.fields(top, "last_error") == [reason]
    (entry,) = scene.client.lrange(scene.keys.outbox, 0, -1)
    assert entry.decode().split("\0") == ["", "fail", "other", above, top, "fp", reason]


def test_a_death_stops_where_it_is_ignored(scene: Scene) -> None:
    leaf = job()
    middle = job(leaf, ignore=True)
    flow = add(scene, middle)

    bury(scene, scene.claim())

    assert scene.places(middle.job_id) == ["dead"]
    assert scene.places(flow.job_id) == ["pending"]
    assert list(ends(scene, flow.job_id, "unsuccessful")) == [middle.job_id]


def test_a_reason_that_climbs_stays_within_its_bound(scene: Scene) -> None:
    parent = held(scene)

    tell(scene, parent, new_id(), Fate.FAILS, b"x" * 8192)

    (reason,) = scene.fields(parent, "last_error")
    assert reason is not None
    assert len(reason) == 8192


@pytest.mark.parametrize("kind", ["dependencies", "processed", "failed", "unsuccessful"])
def test_a_parent_whose_books_cannot_be_read_is_set_aside_with_the_reason(
    scene: Scene, kind: str
) -> None:
    parent = held(scene)
    spoil(scene, scene.keys.children(parent, kind))

    assert tell(scene, parent, new_id(), Fate.DONE)

    assert scene.places(parent) == ["dead"]
    (reason,) = scene.fields(parent, "last_error")
    assert reason in (
        "its count of children is no number",
        "what it knows of its children is not a hash",
    )


def test_a_parent_whose_row_is_no_hash_is_set_aside(scene: Scene) -> None:
    parent = held(scene)
    spoil(scene, scene.keys.row(parent))

    assert tell(scene, parent, new_id(), Fate.DONE)
    assert not tell(scene, parent, new_id(), Fate.DONE)

    assert scene.members("dead") == [parent]


def test_a_parent_whose_row_is_no_hash_and_that_a_set_holds_stays_there(scene: Scene) -> None:
    parent = held(scene)
    tell(scene, parent, new_id(), Fate.DONE)
    spoil(scene, scene.keys.row(parent))

    assert not tell(scene, parent, new_id(), Fate.FAILS)

    assert scene.members("pending") == [parent]
    assert scene.members("dead") == []


def spoil(scene: Scene, key: str) -> None:
    scene.client.delete(key)
    scene.client.rpush(key, "x")


def test_a_counter_that_is_no_number_sets_its_parent_aside(scene: Scene) -> None:
    flow = add(scene, job(), job())
    scene.client.set(scene.keys.children(flow.job_id, "dependencies"), "two")

    complete(scene, scene.claim())

    assert scene.places(flow.job_id) == ["dead"]
    assert scene.fields(flow.job_id, "last_error") == ["its count of children is no number"]
