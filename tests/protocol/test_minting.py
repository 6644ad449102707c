from __future__ import annotations

import os
import threading
from itertools import pairwise

import pytest

from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.ids import EPOCH_MS, JobId, Minter, parse

NOON_S = 1_780_000_000.0
NOON_MS = 1_780_000_000_000


class Clock:
    """A clock that a test sets. Seconds since 1970."""

    def __init__(self) -> None:
        self.now = NOON_S

    def __call__(self) -> float:
        return self.now


def test_ids_only_grow() -> None:
    minter = Minter(node=3)

    minted = [minter.mint() for _ in range(20_000)]

    assert all(earlier < later for earlier, later in pairwise(minted))


def test_many_at_once_are_as_many_as_asked_and_grow() -> None:
    minter = Minter(node=3)

    minted = [*minter.mint_many(3), *minter.mint_many(10_000), minter.mint()]

    assert len(set(minted)) == 10_004
    assert minted == sorted(minted)


@pytest.mark.parametrize("count", [0, -1])
def test_fewer_than_one_id_is_refused(count: int) -> None:
    with pytest.raises(InvalidInput, match=f"mint at least one id; got {count}"):
        Minter(node=1).mint_many(count)


def test_an_id_carries_clock_and_node() -> None:
    minted = Minter(node=513, clock=Clock(), spread=0).mint_many(2)

    assert [parse(job_id)[2:] for job_id in minted] == [(NOON_MS, 513, 0), (NOON_MS, 513, 1)]


def test_eight_threads_share_a_minter_without_a_duplicate() -> None:
    minter = Minter(node=3)
    minted: list[list[JobId]] = [[] for _ in range(8)]
    start = threading.Barrier(8)

    def mint_in(into: list[JobId]) -> None:
        start.wait()
        for _ in range(500):
            into.append(minter.mint())
            into.extend(minter.mint_many(3))

    threads = [threading.Thread(target=mint_in, args=(into,)) for into in minted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({job_id for into in minted for job_id in into}) == 8 * 500 * 4
    assert all(into == sorted(into) for into in minted)


def test_a_clock_that_steps_back_makes_no_id_twice_and_none_smaller() -> None:
    clock = Clock()
    minter = Minter(node=3, clock=clock, spread=0)
    before = minter.mint_many(2)

    clock.now -= 3600
    after = minter.mint_many(2)

    assert sorted(set(before + after)) == before + after
    assert parse(after[-1]).ms == NOON_MS


def test_more_than_4096_in_one_millisecond_run_into_the_next_one() -> None:
    minter = Minter(node=3, clock=Clock(), spread=0)

    minted = minter.mint_many(4097)

    assert parse(minted[4095])[2:] == (NOON_MS, 3, 4095)
    assert parse(minted[4096])[2:] == (NOON_MS + 1, 3, 0)
    assert minted == sorted(set(minted))


def test_a_clock_that_moves_on_starts_the_sequence_anew() -> None:
    clock = Clock()
    minter = Minter(node=3, clock=clock, spread=0)
    minter.mint_many(7)

    clock.now += 1

    assert parse(minter.mint())[2:] == (NOON_MS + 1000, 3, 0)


def test_each_millisecond_starts_at_a_random_sequence() -> None:
    clock = Clock()
    minter = Minter(node=3, clock=clock)
    starts = set()

    for _ in range(50):
        clock.now += 0.001
        starts.add(parse(minter.mint()).sequence)

    assert len(starts) > 25
    assert max(starts) < 1024


@pytest.mark.parametrize("node", [0, 1, 1023])
def test_ids_stay_monotone_when_a_node_is_settled_on(node: int) -> None:
    minter = Minter(clock=Clock())
    before = minter.mint_many(3)
    assert minter.wants_node

    minter.settle_on(node)
    after = minter.mint_many(3)

    assert before + after == sorted(set(before + after))
    assert {parse(job_id).node for job_id in after} == {node}
    assert not minter.wants_node


@pytest.mark.parametrize("node", [-1, 1024])
def test_a_node_out_of_range_is_refused(node: int) -> None:
    minter = Minter(node=5)

    with pytest.raises(InvalidInput, match=f"a node id is 0 to 1023; got {node}"):
        Minter(node=node)
    with pytest.raises(InvalidInput, match=f"a node id is 0 to 1023; got {node}"):
        minter.settle_on(node)

    assert minter.node == 5


def test_a_forked_child_never_mints_what_its_parent_mints() -> None:
    minter = Minter(node=3)
    before = minter.mint_many(10)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            words = [*minter.mint_many(500), str(int(minter.wants_node))]
            os.write(writing, " ".join(words).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        *theirs, wants_node = pipe.read().decode().split()
    os.waitpid(child, 0)
    ours = minter.mint_many(500)

    assert len(set(before) | set(ours) | set(theirs)) == 1010
    assert before + sorted(theirs) == before + theirs
    assert max(before) < min(theirs)
    assert wants_node == "1"
    assert minter.node == 3


def test_children_of_one_fork_draw_nodes_of_their_own() -> None:
    minter = Minter(node=3)
    nodes = []
    for _ in range(6):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writing, str(minter.node).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            nodes.append(int(pipe.read()))
        os.waitpid(child, 0)

    assert len(set(nodes)) > 1


def test_the_epoch_is_the_first_instant_an_id_can_have() -> None:
    minter = Minter(node=0, clock=lambda: EPOCH_MS / 1000 + 0.001, spread=0)

    assert minter.mint() == "JOB0000000Hb84"
