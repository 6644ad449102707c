"""Many completions with mixed lifetimes: what is listed as done is what is there, within its bound."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import NOTHING, Retention
from echomq_app.protocol.ids import JobId
from echomq_app.service.queue import new_label
from echomq_app.service.records import Lease
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.faults.scene import LEASE, Scene, outcome_of
from tests.foreign import seed_enqueue
from tests.servers.server import Server

COMPLETIONS = 1_000_000 if os.environ.get("EMQ_SOAK") == "1" else 100_000
BULK = 500
LIMIT = 2_000
HOUR_MS = 3_600_000
BRIEF_MS = 400


@dataclass
class Ends:
    """What was asked to be kept: by id, the earliest instant at which it may expire, in server ms."""

    receipts: dict[JobId, int] = field(default_factory=dict)
    outcomes: dict[JobId, int] = field(default_factory=dict)


@pytest.fixture
def scene(engine_server: Server) -> Scene:
    client = engine_server.client()
    return Scene(client, Wire(client))


def mixed(random_: random.Random) -> Iterator[Retention]:
    """Nothing, receipts and outcomes; some for less than a second, most for over an hour."""
    while True:
        kind, brief = random_.randrange(10), random_.randrange(4) == 0
        lasting = (
            random_.randrange(1, BRIEF_MS) if brief else random_.randrange(HOUR_MS, 2 * HOUR_MS)
        )
        if kind == 0:
            yield NOTHING
        elif kind < 4:
            yield Retention(mark="m", receipt_ms=lasting)
        else:
            yield Retention(
                mark="m",
                receipt_ms=random_.choice([1, lasting // 2 + 1]),
                outcome=b'{"value":null}',
                result_ms=lasting,
                limit=LIMIT,
            )


def complete_all(scene: Scene, held: list[Lease], keeps: Iterator[Retention], ends: Ends) -> None:
    now = scene.server_ms()
    chosen = list(islice(keeps, len(held)))
    answers = scene.direct.wire.answer(
        [
            calls.complete(scene.keys, one.job_id, one.token, one.label, keep)
            for one, keep in zip(held, chosen, strict=True)
        ]
    )
    for answer in answers:
        answer.unwrap()
    for one, keep in zip(held, chosen, strict=True):
        if keep.outcome is not None:
            ends.outcomes[one.job_id] = now + max(keep.result_ms, keep.receipt_ms)
        elif keep.receipt_ms:
            ends.receipts[one.job_id] = now + keep.receipt_ms


def run_many(scene: Scene, count: int) -> Ends:
    """Admit, claim and complete ``count`` jobs; sweep now and then, as workers do."""
    ends, keeps = Ends(), mixed(random.Random(1))
    for _ in range(count // BULK):
        scene.direct.enqueue_many([(job_id, b"{}") for job_id in scene.minter.mint_many(BULK)])
        complete_all(scene, scene.direct.claim_many(LEASE, BULK, new_label()), keeps, ends)
        scene.direct.trim(most=BULK // 2)
    return ends


def kept(scene: Scene) -> dict[JobId, bytes]:
    """Every receipt and outcome that is there, by id."""
    client: Any = scene.client
    prefix = scene.keys.result("JOB00000000000")[:-14]
    keys = list(client.scan_iter(f"{prefix}*", count=10_000))
    values: list[bytes | None] = []
    for start in range(0, len(keys), 10_000):
        values += client.mget(keys[start : start + 10_000])
    return {
        JobId(key.decode()[len(prefix) :]): value
        for key, value in zip(keys, values, strict=True)
        if value is not None
    }


def members(scene: Scene, name: str) -> dict[JobId, int]:
    client: Any = scene.client
    found = client.zrange(scene.keys.base + name, 0, -1, withscores=True)
    return {JobId(member.decode()): int(score) for member, score in found}


@pytest.mark.timeout(3600)
def test_what_is_listed_as_done_is_what_is_there(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    before = int(scene.client.info("memory")["used_memory"])
    ends = run_many(scene, COMPLETIONS)
    settled_ms = scene.server_ms()
    eventually(lambda: scene.server_ms() > settled_ms + BRIEF_MS, message="the brief ones' end")
    scene.direct.trim(most=COMPLETIONS)

    there = kept(scene)
    outcomes = {job_id for job_id, value in there.items() if b"\n" in value}
    done, listed, expire = (members(scene, name) for name in ("done", "outcomes", "expire"))

    assert set(done) == set(listed) == outcomes
    assert set(done.values()) == {0}
    assert len(outcomes) == LIMIT
    assert set(expire) == set(there)
    assert {job_id: expire[job_id] for job_id in listed} == listed
    soonest_kept = min(listed.values())
    assert all(ends.outcomes[job_id] <= soonest_kept for job_id in set(ends.outcomes) - outcomes)
    assert set(there) <= set(ends.outcomes) | set(ends.receipts)
    lasting = {job_id for job_id, end in ends.receipts.items() if end > scene.server_ms()}
    assert lasting <= set(there)
    counts = scene.direct.facts().counts
    assert (counts.pending, counts.active, counts.schedule, counts.dead) == (0, 0, 0, 0)
    assert (counts.done, counts.completed) == (LIMIT, COMPLETIONS)

    used = int(scene.client.info("memory")["used_memory"]) - before
    receipts = len(there) - len(outcomes)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{COMPLETIONS:,} completions left {len(outcomes):,} outcomes and {receipts:,} receipts: "
            f"{used:,} bytes, {used / len(there):.0f} each\n"
        )


def test_when_every_lifetime_is_over_nothing_is_left(scene: Scene) -> None:
    for _ in range(20):
        held = scene.held()
        keep = Retention(mark="m", receipt_ms=5, outcome=b"1", result_ms=20, limit=10)
        scene.direct.complete(held, keep)
    eventually(lambda: not kept(scene), message="the end of what was kept")
    scene.direct.trim()

    left = {key for key in scene.snapshot() if key.startswith(scene.keys.base)}
    assert left == {f"{scene.keys.base}metrics:completed", scene.keys.wake} & left
    assert scene.direct.facts().counts.done == 0


def test_a_smaller_bound_is_reached_by_the_next_completions(scene: Scene) -> None:
    def complete(limit: int) -> None:
        keep = Retention(
            mark="m", receipt_ms=HOUR_MS, outcome=b"1", result_ms=2 * HOUR_MS, limit=limit
        )
        scene.direct.complete(scene.held(), keep)

    for _ in range(50):
        complete(100)
    for _ in range(5):
        complete(10)

    assert len(members(scene, "done")) == len(members(scene, "outcomes")) == 10
    assert len(members(scene, "expire")) == len(kept(scene)) == 55


def test_a_bound_of_none_keeps_receipts_alone(scene: Scene) -> None:
    held = scene.held()
    keep = Retention(mark="m", receipt_ms=HOUR_MS, outcome=b"1", result_ms=HOUR_MS, limit=0)
    scene.direct.complete(held, keep)

    receipt = scene.direct.job(held.job_id).receipt
    assert receipt is not None
    assert receipt.outcome is None
    assert scene.direct.facts().counts.done == 0


def test_a_new_life_of_an_id_clears_what_its_last_one_left(scene: Scene) -> None:
    held = scene.held()
    scene.direct.complete(held, outcome_of(held))
    seed_enqueue(scene.client, scene.direct.name, held.job_id, b"{}")
    again = scene.hand.take()
    scene.direct.retry(again, delay=LEASE, max_attempts=1, error="boom")

    assert members(scene, "done") == members(scene, "outcomes") == members(scene, "expire") == {}
    assert kept(scene) == {}
