"""What a worker sends when jobs end, how often, and what it tells of the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from echomq_app.protocol import payload
from echomq_app.protocol.calls import Retention
from echomq_app.protocol.errors import ServerFull
from echomq_app.protocol.states import State
from echomq_app.runtime.events import Event
from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Completed, Delayed, Failed, Outcome, Released
from echomq_app.runtime.settling import Settle, settle_call, take_answer
from echomq_app.wire.exchange import Answer
from tests.eventually import eventually
from tests.runtime.scene import Scene, failed
from tests.servers.engines import DEFAULT, engine
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.wire.links import runs

SceneOf = Callable[..., Scene]


def kept(held: Held) -> Completed:
    """Completed, as the worker of a Django project leaves it."""
    keep = Retention(
        mark=payload.mark(held.lease.payload),
        receipt_ms=60_000,
        outcome=b'{"value":1}',
        result_ms=120_000,
        limit=100,
    )
    return Completed(keep=keep)


def start(scene: Scene, count: int = 1) -> list[Held]:
    scene.enqueue(count)
    scene.worker.tick()
    return list(scene.bench.running)


def test_ten_settles_and_the_next_claim_of_ten_are_one_round_trip(
    scene_of: SceneOf, proxy: CuttingProxy
) -> None:
    scene = scene_of(concurrency=10)
    held = start(scene, 10)
    after = scene.enqueue(10)
    for one in held:
        scene.bench.end(one, kept(one))
    proxy.reset()

    scene.worker.tick({scene.keys.wake})

    assert proxy.round_trips == 1
    assert sum(runs("complete_keep")(words) for words in proxy.commands) == 10
    assert sum(runs("claim_many")(words) for words in proxy.commands) == 1
    assert len(proxy.commands) == 11
    assert scene.ran == after
    assert scene.queue.facts().counts.completed == 10


@pytest.mark.parametrize(
    ("outcome", "event", "state"),
    [
        (Completed(), Event.COMPLETED, State.ABSENT),
        (failed(timedelta(hours=1)), Event.RETRIED, State.SCHEDULED),
        (failed(most=1), Event.BURIED, State.DEAD),
        (Delayed(delay=timedelta(hours=1), why="later"), Event.DELAYED, State.SCHEDULED),
        (Released(), Event.RELEASED, State.PENDING),
    ],
)
def test_each_outcome_is_settled_and_told_with_its_facts(
    scene_of: SceneOf, outcome: Outcome, event: Event, state: State
) -> None:
    scene = scene_of(beat=timedelta(hours=1), sweep=False, concurrency=1)
    (held,) = start(scene)
    scene.clock.pass_(2.5)
    scene.worker.stop()
    scene.bench.end(held, outcome)

    scene.worker.tick()

    assert scene.queue.state(held.lease.job_id) is state
    (told,) = scene.tale.of(event)
    assert (told["job"], told["token"], told["attempt"]) == (held.lease.job_id, 1, 1)
    assert told["seconds"] == 2.5


@pytest.mark.parametrize("outcome", ["completed", "failed", "delayed", "released"])
@pytest.mark.parametrize("cut", ["cut_before_reply", "cut_before_request"])
def test_a_settle_whose_reply_is_lost_is_sent_again_and_counted_once(
    scene_of: SceneOf, proxy: CuttingProxy, outcome: str, cut: str
) -> None:
    scene = scene_of(beat=timedelta(hours=1), sweep=False, concurrency=1)
    (held,) = start(scene)
    ends: dict[str, tuple[Outcome, str, Event]] = {
        "completed": (kept(held), "complete_keep", Event.COMPLETED),
        "failed": (failed(timedelta(hours=1)), "retry", Event.RETRIED),
        "delayed": (Delayed(delay=timedelta(hours=1), why="w"), "delay", Event.DELAYED),
        "released": (Released(), "release", Event.RELEASED),
    }
    end, verb, event = ends[outcome]
    scene.worker.stop()
    scene.bench.end(held, end)
    getattr(proxy, cut)(runs(verb))

    scene.worker.tick()

    assert scene.tale.events().count(event) == 1
    assert Event.SETTLE_REFUSED not in scene.tale.events()
    assert scene.queue.facts().counts.completed == (outcome == "completed")
    row = scene.client.hgetall(scene.keys.row(held.lease.job_id))
    assert row.get(b"excused", b"0") == (b"1" if outcome in ("delayed", "released") else b"0")


@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_a_settle_whose_replies_are_lost_past_all_patience_is_still_counted_once(
    scene_of: SceneOf, proxy: CuttingProxy, outcome: str
) -> None:
    scene = scene_of(beat=timedelta(hours=1), sweep=False, concurrency=1, patience_s=0.05)
    (held,) = start(scene)
    end = kept(held) if outcome == "completed" else failed(timedelta(hours=1))
    verb = "complete_keep" if outcome == "completed" else "retry"
    scene.bench.end(held, end)
    lost = proxy.cut_before_reply(runs(verb), times=1)
    away = proxy.cut_before_request(lambda words: lost.fired > 0, times=1000)

    pause = scene.worker.tick()
    assert pause == pytest.approx(1.0)
    assert scene.tale.of(Event.SERVER_AWAY)

    away.left = 0
    scene.clock.pass_(1.1)
    scene.worker.tick()

    event = Event.COMPLETED if outcome == "completed" else Event.RETRIED
    assert scene.tale.events().count(event) == 1
    assert Event.SETTLE_REFUSED not in scene.tale.events()
    assert Event.SERVER_BACK in scene.tale.events()


def test_a_completion_that_was_lost_and_left_no_receipt_is_told_as_unknown(
    scene_of: SceneOf, proxy: CuttingProxy
) -> None:
    scene = scene_of(concurrency=1)
    (held,) = start(scene)
    scene.bench.end(held, Completed())
    proxy.cut_before_reply(runs("complete"))

    scene.worker.tick()

    (told,) = scene.tale.of(Event.SETTLE_UNKNOWN)
    assert told["job"] == held.lease.job_id


def test_a_stale_settle_is_refused_told_and_not_sent_again(scene: Scene) -> None:
    (held,) = start(scene)
    scene.lapse(held.lease.job_id)
    scene.queue.reap()
    (thief,) = scene.queue.claim_many(timedelta(minutes=1), 1, "thief")
    scene.bench.end(held, kept(held))

    scene.worker.tick()
    scene.worker.tick()

    (told,) = scene.tale.of(Event.SETTLE_REFUSED)
    assert (told["reason"], told["token"]) == ("token", 1)
    assert scene.queue.facts().counts.completed == 0
    scene.queue.complete(thief)


def test_a_job_that_an_operator_removed_is_told_as_refused(scene: Scene) -> None:
    (held,) = start(scene)
    scene.queue.remove(held.lease.job_id, force=True)
    scene.bench.end(held, Completed())

    scene.worker.tick()

    assert len(scene.tale.of(Event.SETTLE_REFUSED)) == 1


@pytest.mark.parametrize("most", [-1, -(2**70), 2**70])
def test_a_strangers_number_of_attempts_ends_no_worker(scene: Scene, most: int) -> None:
    (held,) = start(scene)
    outcome = Failed(error="no", report=None, delay=timedelta(hours=1), max_attempts=most)
    scene.bench.end(held, outcome)

    scene.worker.tick()

    state = scene.queue.state(held.lease.job_id)
    assert state is (State.DEAD if most < 0 else State.SCHEDULED)


@pytest.fixture
def full() -> Iterator[Scene]:
    """A worker whose server has no memory left as soon as ``fill`` is called."""
    with Server(engine(DEFAULT)) as server:
        yield Scene(server.client(), server.client(), concurrency=2)


def fill(scene: Scene) -> None:
    scene.client.config_set("maxmemory", "1")


@pytest.mark.part("valkey-9")
def test_on_a_full_server_a_receipt_takes_the_place_of_the_outcome(full: Scene) -> None:
    held = start(full, 2)
    full.bench.end(held[0], kept(held[0]))
    full.bench.end(held[1], failed(timedelta(hours=1)))
    fill(full)

    assert full.worker.tick() == 0.0
    full.worker.tick()

    assert full.tale.events().count(Event.COMPLETED) == 1
    assert full.tale.events().count(Event.RETRIED) == 1
    assert full.queue.facts().counts.completed == 1
    details = full.queue.job(held[0].lease.job_id)
    assert details.receipt is not None
    assert details.receipt.token == 1
    assert full.queue.facts().counts.done == 0


@pytest.mark.part("valkey-9")
def test_a_worker_that_leaves_a_full_server_settles_by_receipts_too(full: Scene) -> None:
    held = start(full, 2)
    fill(full)
    full.worker.stop()
    full.clock.pass_(30)
    for one in held:
        full.bench.end(one, kept(one))

    assert full.worker.tick() is None

    assert full.queue.facts().counts.completed == 2
    assert full.tale.events().count(Event.COMPLETED) == 2


def test_jobs_drain_to_empty_from_a_full_server(scene_of: SceneOf) -> None:
    scene = scene_of(concurrency=4)
    jobs = scene.enqueue(20)
    scene.client.config_set("maxmemory", "1")
    try:
        done: list[str] = []

        def drain() -> bool:
            scene.worker.tick()
            for held in list(scene.bench.running):
                scene.bench.end(held, kept(held))
                done.append(held.lease.job_id)
            return scene.queue.facts().counts.completed == 20

        eventually(drain)
    finally:
        scene.client.config_set("maxmemory", "0")

    assert sorted(done) == sorted(jobs)


def test_a_settle_that_a_full_server_refuses_without_an_outcome_is_not_sent_for_ever(
    scene: Scene,
) -> None:
    (held,) = start(scene)
    settle = Settle(lease=held.lease, outcome=Completed())
    call = settle_call(scene.queue, settle)
    refused = Answer(call, None, ServerFull("OOM"), resent=False)

    assert take_answer(scene.queue, settle, refused, scene.tale) is None

    (told,) = scene.tale.of(Event.OUTCOME_DROPPED)
    assert (told["job"], told["error"]) == (held.lease.job_id, "OOM")
