"""A server at its maxmemory: only admission is refused, and workers drain it to empty."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import NOTHING
from echomq_app.protocol.errors import ServerFull
from echomq_app.protocol.keyspace import VERSION
from echomq_app.protocol.states import (
    Admission,
    Completion,
    JobSet,
    Reassigned,
    Requeued,
    Retried,
    State,
)
from echomq_app.service.bus import ServerBus
from echomq_app.service.queue import Queue, new_label
from echomq_app.service.records import PageRequest
from echomq_app.wire.link import Wire
from tests.faults.flows import FAR, far_flow, flow_of, new_flow
from tests.faults.scene import (
    LANE,
    LEASE,
    OTHER_LANE,
    Hand,
    Scene,
    new_payload,
    outcome_of,
    receipt_of,
)
from tests.servers.server import Server

SENTENCE = (
    "the server is full and refused {verb}: .*maxmemory.* Jobs already admitted are served; "
    "raise maxmemory or let workers drain the queues"
)


@pytest.fixture
def scene(every_engine: Server) -> Scene:
    client = every_engine.client()
    return Scene(client, Wire(client))


@pytest.fixture
def fill(every_engine: Server) -> Iterator[Callable[[], None]]:
    """Makes the server full: it may use half of what it uses."""

    def fill() -> None:
        used = int(every_engine.admin.info("memory")["used_memory"])
        every_engine.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        every_engine.ask("CONFIG", "SET", "maxmemory", used // 2)

    yield fill
    every_engine.ask("CONFIG", "SET", "maxmemory", 0)


def test_an_enqueue_is_refused_with_its_sentence_and_writes_nothing(
    scene: Scene, fill: Callable[[], None]
) -> None:
    scene.waiting()
    before = scene.snapshot()
    fill()

    with pytest.raises(ServerFull, match=SENTENCE.format(verb="enqueue")):
        scene.direct.enqueue(*scene.new_job())

    assert scene.snapshot() == before


def test_a_bulk_and_a_schedule_are_refused_whole(scene: Scene, fill: Callable[[], None]) -> None:
    scene.waiting()
    before = scene.snapshot()
    fill()

    with pytest.raises(ServerFull, match=SENTENCE.format(verb="enqueue_many")):
        scene.direct.enqueue_many(scene.new_jobs(3))
    with pytest.raises(ServerFull, match=SENTENCE.format(verb="schedule")):
        scene.direct.schedule_in(scene.new_job()[0], b"{}", LEASE)
    with pytest.raises(ServerFull, match=SENTENCE.format(verb="lane_enqueue")):
        scene.lanes.enqueue(LANE, *scene.new_job())

    assert scene.snapshot() == before


def test_a_flow_is_refused_whole_and_flows_that_are_there_come_to_their_end(
    scene: Scene, fill: Callable[[], None]
) -> None:
    flows = flow_of(scene)
    there = far_flow(scene)
    flows.add(there)
    far = Hand(Queue(scene.direct.wire, FAR))
    before = scene.snapshot()
    fill()

    with pytest.raises(ServerFull, match=SENTENCE.format(verb="flow_add")):
        flows.add(new_flow(scene))
    assert scene.snapshot() == before
    assert flows.add(there) is Admission.DUPLICATE

    far.clear()
    assert flows.carry(FAR).entries == 2
    scene.hand.clear()
    assert scene.hand.ran == {there.job_id: 1}


def test_an_admission_that_is_sent_again_still_hears_duplicate(
    scene: Scene, fill: Callable[[], None]
) -> None:
    waiting, done, parked = scene.new_jobs(3)
    scene.direct.enqueue(*done)
    scene.hand.clear()
    scene.direct.enqueue(*waiting)
    scene.direct.schedule_in(parked[0], parked[1], LEASE)
    fill()

    assert scene.direct.enqueue(*waiting) is Admission.DUPLICATE
    assert scene.direct.enqueue(*done) is Admission.DUPLICATE
    assert scene.direct.schedule_in(parked[0], parked[1], LEASE) is Admission.DUPLICATE
    assert scene.direct.enqueue_many([waiting, done]) == [Admission.DUPLICATE] * 2


def test_every_settle_works(scene: Scene, fill: Callable[[], None]) -> None:
    kept, plain, retried, buried, released, delayed = (scene.held() for _ in range(6))
    fill()
    queue = scene.direct

    assert queue.extend([kept, plain], LEASE) == []
    assert queue.wire.run(calls.extend(scene.keys, kept.job_id, 1, 60_000, kept.label))
    assert queue.complete(kept, receipt_of(kept)) is Completion.COMPLETED
    assert queue.complete(plain, NOTHING) is Completion.COMPLETED
    assert queue.retry(retried, delay=LEASE, max_attempts=3, error="e" * 9000) is Retried.SCHEDULED
    assert queue.retry(buried, delay=LEASE, max_attempts=1, error="boom", report=b"{}") is (
        Retried.DEAD
    )
    queue.release(released)
    queue.delay(delayed, LEASE)

    states = [
        scene.state(held.job_id) for held in (kept, plain, retried, buried, released, delayed)
    ]
    assert states == [
        State.DONE,
        State.ABSENT,
        State.SCHEDULED,
        State.DEAD,
        State.PENDING,
        State.SCHEDULED,
    ]


def test_claims_sweeps_and_what_operators_do_work(scene: Scene, fill: Callable[[], None]) -> None:
    scene.expired_receipt()
    dead, lapsed, due = scene.dead(), scene.lapsed(), scene.due()
    removable, first, second, third = (scene.waiting() for _ in range(4))
    fill()
    queue = scene.direct

    assert queue.reap() == 1
    assert queue.promote() == 1
    assert queue.trim() == 1
    assert queue.requeue(dead) is Requeued.REQUEUED
    assert queue.remove(removable, receipt_for=LEASE)
    assert queue.progress(first, "half")
    assert queue.pause()
    assert queue.claim_many(LEASE, 1) == []
    assert queue.resume()
    assert [job.job_id for job in queue.page(PageRequest(which=JobSet.PENDING)).jobs] == sorted(
        (dead, lapsed.job_id, due, first, second, third)
    )
    beat = queue.wire.run(calls.beat(scene.keys, batch=10, lease=60_000, size=3, label=new_label()))
    assert len(beat.jobs) == 3
    assert queue.claim(LEASE, new_label()) is not None
    assert len(queue.claim_many(LEASE, 9, new_label())) == 2
    assert queue.facts().counts.active == 6


def test_lanes_are_claimed_and_steered(scene: Scene, fill: Callable[[], None]) -> None:
    lapsed = scene.lapsed_in_lane().job_id
    first, second, moved = (scene.waiting_in_lane() for _ in range(3))
    fill()
    lanes = scene.lanes

    assert lanes.reap(LANE) == 1
    assert lanes.reassign(moved, OTHER_LANE) is Reassigned.MOVED
    assert lanes.pause(LANE)
    assert [held.job_id for held in lanes.claim(LEASE, 9)] == [moved]
    assert lanes.resume(LANE)
    lanes.limit(LANE, 2)
    lanes.weight(LANE, 5)
    assert [held.job_id for held in lanes.claim_weighted(LEASE)] == [lapsed, first]
    assert lanes.drain(LANE) == 1
    assert scene.state(second) is State.ABSENT
    assert lanes.depth(LANE) == 0


def test_an_outcome_is_refused_and_its_job_completed_with_a_receipt(
    scene: Scene, fill: Callable[[], None]
) -> None:
    held = scene.held()
    fill()

    with pytest.raises(ServerFull, match=SENTENCE.format(verb="complete_keep")):
        scene.direct.complete(held, outcome_of(held))
    assert scene.state(held.job_id) is State.ACTIVE
    assert scene.direct.complete(held, receipt_of(held)) is Completion.COMPLETED

    kept = scene.direct.job(held.job_id).receipt
    assert kept is not None
    assert (kept.token, kept.label, kept.outcome) == (held.token, held.label, None)


def test_a_log_line_is_refused_with_its_sentence(scene: Scene, fill: Callable[[], None]) -> None:
    job_id = scene.waiting()
    fill()

    with pytest.raises(ServerFull, match=SENTENCE.format(verb="add_log")):
        scene.direct.add_log(job_id, "line")


def test_workers_drain_it_to_empty_though_it_knows_none_of_their_scripts(
    scene: Scene, fill: Callable[[], None], every_engine: Server
) -> None:
    scene.direct.enqueue_many([(job_id, new_payload()) for job_id in scene.minter.mint_many(300)])
    scene.due()
    fill()
    every_engine.ask("SCRIPT", "FLUSH")

    scene.hand.clear()

    counts = scene.direct.facts().counts
    assert (counts.pending, counts.active, counts.schedule, counts.dead) == (0, 0, 0, 0)
    assert len(scene.hand.ran) == 301
    assert set(scene.hand.ran.values()) == {1}


def test_a_pipeline_is_judged_call_by_call_and_is_no_transaction(
    scene: Scene, fill: Callable[[], None]
) -> None:
    held = [scene.held() for _ in range(10)]
    scene.waiting()
    fill()
    settles = [
        calls.complete(scene.keys, one.job_id, one.token, one.label, receipt_of(one))
        for one in held
    ]
    refused = calls.enqueue(scene.keys, *scene.new_job())
    claim = calls.claim_many(scene.keys, 60_000, 10, new_label())

    answers = scene.direct.wire.answer([*settles, refused, claim])

    assert [answer.value for answer in answers[:10]] == [Completion.COMPLETED] * 10
    assert isinstance(answers[10].error, ServerFull)
    assert len(answers[11].unwrap()) == 1


def test_registrations_that_it_refuses_stop_nothing(scene: Scene, fill: Callable[[], None]) -> None:
    job_id = scene.waiting()
    bus = ServerBus(scene.direct.wire)
    fill()

    assert bus.join(scene.direct.name) is False
    with pytest.raises(ServerFull):
        bus.next_node()

    assert [held.job_id for held in scene.direct.claim_many(LEASE, 5)] == [job_id]


def test_a_first_client_of_a_full_server_without_a_fence_says_what_is_wrong(
    every_engine: Server, fill: Callable[[], None]
) -> None:
    fill()

    with pytest.raises(ServerFull, match="refused the fence"):
        ServerBus(Wire(every_engine.client())).known_queues()

    assert every_engine.ask("EXISTS", VERSION) == 0
