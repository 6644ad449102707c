from __future__ import annotations

import subprocess
import sys
import threading
from functools import cache
from itertools import pairwise

import pytest

from checks.tree import ROOT
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


def test_many_at_once_are_those_that_one_by_one_gives() -> None:
    together, alone = (Minter(node=513, clock=Clock(), spread=0) for _ in range(2))

    minted = together.mint_many(9000)

    assert minted == [alone.mint() for _ in range(9000)]
    assert together.mint() == alone.mint()


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


FORKING = """
import os, sys
from echomq_app.protocol.ids import Minter

minter = Minter(node=3)
print("before", *minter.mint_many(10), flush=True)
for _ in range(6):
    if os.fork() == 0:
        print("child", minter.node, minter.wants_node, *minter.mint_many(300), flush=True)
        os._exit(0)
    os.wait()
print("parent", minter.node, minter.wants_node, *minter.mint_many(300), flush=True)
"""


@cache
def told_by_a_family() -> list[list[str]]:
    """The words of a process that mints, forks six times and mints on, a line each."""
    program = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return [line.split() for line in program.stdout.splitlines()]


def test_a_forked_child_never_mints_what_its_parent_or_its_siblings_mint() -> None:
    (_, *before), *children, (_, node, wants_node, *after) = told_by_a_family()

    families = [before, after, *(ids for _, _, _, *ids in children)]
    assert len({job_id for ids in families for job_id in ids}) == sum(map(len, families))
    for _, _, _, *ids in children:
        assert ids == sorted(ids)
        assert max(before) < min(ids)
    assert (node, wants_node) == ("3", "False")


def test_forked_children_draw_nodes_of_their_own() -> None:
    children = [words for words in told_by_a_family() if words[0] == "child"]

    assert len(children) == 6
    assert len({node for _, node, *_ in children}) > 1
    assert {wants_node for _, _, wants_node, *_ in children} == {"True"}


def test_the_epoch_is_the_first_instant_an_id_can_have() -> None:
    minter = Minter(node=0, clock=lambda: EPOCH_MS / 1000 + 0.001, spread=0)

    assert minter.mint() == "JOB0000000Hb84"
