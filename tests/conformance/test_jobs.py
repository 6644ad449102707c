"""Scenarios of single jobs: admission, claims, settling, reading."""

from __future__ import annotations

import json
import threading
from datetime import timedelta

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Extension
from echomq_app.protocol.errors import Locked, Stale, WrongKind, WrongState
from echomq_app.protocol.keyspace import VERSION
from echomq_app.protocol.states import Admission, Completion, JobSet, Requeued, Retried, State
from tests.eventually import eventually
from tests.protocol.scene import LONG, Scene, new_id

MINUTE = timedelta(minutes=1)


def test_01_fence(scene: Scene) -> None:
    scene.queue.pending_size()

    assert scene.client.get(VERSION) == b"echomq:4.0.0"


def test_02_mint(scene: Scene) -> None:
    job_id = scene.enqueue(b"payload")

    assert scene.row(job_id) == {"state": "pending", "attempts": "0", "payload": "payload"}


def test_03_duplicate(scene: Scene) -> None:
    job_id = new_id()

    first = scene.run(calls.enqueue(scene.keys, job_id, b"first"))
    second = scene.run(calls.enqueue(scene.keys, job_id, b"second"))

    assert (first, second) == (Admission.ADMITTED, Admission.DUPLICATE)
    assert scene.fields(job_id, "payload") == ["first"]
    assert scene.members("pending") == [job_id]


def test_04_kind(scene: Scene) -> None:
    order = "ORD0KHTOWnGLuC"

    with pytest.raises(WrongKind, match=r"^EMQKIND"):
        scene.queue.enqueue(order, b"w")

    assert not scene.client.exists(scene.keys.row(order))


def test_05_order(scene: Scene) -> None:
    jobs = [new_id() for _ in range(5)]
    for job_id in (jobs[2], jobs[0], jobs[4], jobs[1], jobs[3]):
        scene.enqueue(job_id=job_id)

    assert scene.queue.browse() == jobs[::-1]
    assert scene.queue.browse(2) == jobs[:2:-1]


def test_06_claim(scene: Scene) -> None:
    job_id = scene.enqueue(b"payload")

    held = scene.queue.claim(MINUTE)

    assert held is not None
    assert (held.job_id, held.payload, held.token) == (job_id, b"payload", 1)
    assert scene.fields(job_id, "state") == ["active"]


def test_07_stale(scene: Scene) -> None:
    held = scene.held()
    scene.client.script_flush()

    with pytest.raises(Stale, match=r"^EMQSTALE"):
        scene.run(calls.complete(scene.keys, held.job_id, 99))

    assert scene.run(calls.complete(scene.keys, held.job_id, 1)) is Completion.COMPLETED


def test_08_complete(scene: Scene) -> None:
    held = scene.held()

    scene.queue.complete(held)

    assert not scene.client.exists(scene.keys.row(held.job_id))
    assert scene.client.zcard(scene.keys.active) == 0


def test_09_retry(scene: Scene) -> None:
    held = scene.held()

    scene.queue.retry(held, delay=timedelta(milliseconds=5), max_attempts=3, error="boom")

    assert scene.fields(held.job_id, "state", "last_error") == ["scheduled", "boom"]
    eventually(lambda: scene.queue.promote() == 1)
    again = scene.queue.claim(MINUTE)
    assert again is not None
    assert again.token == 2


def test_10_dead(scene: Scene) -> None:
    held = scene.held()

    verdict = scene.queue.retry(held, delay=MINUTE, max_attempts=1, error="boom")

    assert verdict is Retried.DEAD
    assert scene.fields(held.job_id, "state") == ["dead"]
    assert scene.members("dead") == [held.job_id]


def test_11_reap(scene: Scene) -> None:
    job_id = scene.enqueue()
    scene.queue.claim(timedelta(milliseconds=30))

    eventually(lambda: scene.queue.reap() == 1)

    assert scene.fields(job_id, "state") == ["pending"]
    assert scene.claim().token == 2


def test_15_schedule(scene: Scene) -> None:
    job_id = new_id()
    scene.queue.schedule_in(job_id, b"w", timedelta(milliseconds=5))

    assert scene.fields(job_id, "state") == ["scheduled"]
    assert scene.queue.claim(MINUTE) is None
    eventually(lambda: scene.queue.promote() == 1)
    held = scene.queue.claim(MINUTE)
    assert held is not None
    assert (held.job_id, held.token) == (job_id, 1)


def test_17_backoff(scene: Scene) -> None:
    job_id = scene.enqueue()
    verdicts = []
    for attempt in range(1, 4):
        held = scene.claim()
        delay = timedelta(milliseconds=10 * 2 ** (held.attempt - 1))
        verdicts.append(
            scene.queue.retry(held, delay=delay, max_attempts=3, error=f"boom {attempt}")
        )
        scene.fall_due(job_id)
        scene.queue.promote()

    assert verdicts == [Retried.SCHEDULED, Retried.SCHEDULED, Retried.DEAD]
    assert scene.fields(job_id, "state", "attempts", "last_error") == ["dead", "3", "boom 3"]


def test_19_counts(scene: Scene) -> None:
    for _ in range(4):
        scene.enqueue()
    scene.claim()
    scene.queue.schedule_in(new_id(), b"w", MINUTE)

    counts = scene.queue.facts().counts

    assert (counts.pending, counts.active, counts.schedule, counts.dead) == (3, 1, 1, 0)
    with pytest.raises(ValueError, match="'waiting' is not a valid JobSet"):
        JobSet("waiting")


def test_20_state(scene: Scene) -> None:
    held = scene.held()
    parked = new_id()
    scene.queue.schedule_in(parked, b"w", MINUTE)

    states = [scene.queue.state(job_id) for job_id in (held.job_id, parked, new_id())]

    assert states == [State.ACTIVE, State.SCHEDULED, State.ABSENT]
    fields = scene.queue.job(held.job_id).fields
    assert fields == {"state": b"active", "attempts": b"1", "payload": b"w"}


def test_21_metrics(scene: Scene) -> None:
    assert scene.queue.facts().counts.completed == 0

    scene.queue.complete(scene.held())

    assert scene.queue.facts().counts.completed == 1
    assert scene.client.llen(scene.key("metrics:completed:data")) == 0


def test_25_queue_pause(scene: Scene) -> None:
    job_id = scene.enqueue()

    scene.queue.pause()
    assert scene.client.hget(scene.keys.meta, "paused") == b"1"
    assert scene.queue.claim(MINUTE) is None
    assert scene.queue.claim_many(MINUTE, 5) == []
    assert scene.members("pending") == [job_id]

    scene.queue.resume()
    assert scene.claim().job_id == job_id


def test_29_update_progress(scene: Scene) -> None:
    job_id = scene.enqueue()
    listener = scene.client.pubsub()
    listener.subscribe(scene.keys.events)
    eventually(lambda: (listener.get_message(timeout=0.1) or {}).get("type") == "subscribe")

    assert scene.queue.progress(job_id, "50") is True

    heard = eventually(lambda: listener.get_message(timeout=0.1))
    assert json.loads(heard["data"]) == {"event": "progress", "job": job_id, "progress": "50"}
    assert scene.fields(job_id, "progress") == ["50"]
    assert scene.queue.progress(new_id(), "50") is False
    listener.close()


def test_30_job_logs(scene: Scene) -> None:
    job_id = scene.enqueue()

    counts = [scene.queue.add_log(job_id, "l1"), scene.queue.add_log(job_id, "l2")]
    counts.append(scene.queue.add_log(job_id, "l3", keep=2))

    assert counts == [1, 2, 2]
    assert scene.queue.logs(job_id) == ["l2", "l3"]
    assert scene.queue.logs(new_id()) is None
    assert scene.queue.add_log(new_id(), "l1") is None


def test_31_remove_job(scene: Scene) -> None:
    free, held = scene.held(), scene.held()
    scene.queue.release(free)
    scene.client.set(scene.key("de:once"), free.job_id)

    assert scene.run(calls.remove(scene.keys, free.job_id, did="once")) is True
    with pytest.raises(Locked, match=r"^EMQLOCK"):
        scene.queue.remove(held.job_id)

    assert scene.queue.state(free.job_id) is State.ABSENT
    assert not scene.client.exists(scene.key("de:once"))
    assert scene.places(held.job_id) == ["active"]


def test_32_reprocess_job(scene: Scene) -> None:
    dead, live = scene.dead(), scene.enqueue()

    assert scene.queue.requeue(dead) is Requeued.REQUEUED
    with pytest.raises(WrongState, match=r"^EMQSTATE"):
        scene.queue.requeue(live)

    assert scene.fields(dead, "state", "last_error") == ["pending", None]
    assert scene.queue.requeue(new_id()) is Requeued.GONE


def test_33_lock_extend(scene: Scene) -> None:
    held = scene.held()
    scene.lapse(held.job_id)

    assert scene.run(calls.extend(scene.keys, held.job_id, 1, 60_000)) is True
    assert scene.queue.reap() == 0
    assert (scene.score("active", held.job_id) or 0) > scene.server_ms()
    with pytest.raises(Stale):
        scene.run(calls.extend(scene.keys, held.job_id, 9, 60_000))
    assert scene.run(calls.extend(scene.keys, new_id(), 1, 60_000)) is False


def test_38_unknown_state(scene: Scene) -> None:
    held = scene.held()
    scene.client.zrem(scene.keys.active, held.job_id)

    assert scene.queue.state(held.job_id) is State.UNKNOWN
    assert scene.queue.state(new_id()) is State.ABSENT


def test_40_dedup_release(scene: Scene) -> None:
    job_id, other = scene.enqueue(), scene.enqueue()
    scene.client.set(scene.key("de:mine"), job_id)
    scene.client.set(scene.key("de:orphan"), new_id())

    scene.run(calls.remove(scene.keys, job_id, did="mine"))
    scene.run(calls.remove(scene.keys, other, did="orphan"))

    assert not scene.client.exists(scene.key("de:mine"))
    assert scene.client.exists(scene.key("de:orphan"))


def test_41_extend_locks_batch(scene: Scene) -> None:
    live, stale, gone = scene.held(), scene.held(), scene.held()
    scene.queue.complete(gone)
    claims = [
        Extension(live.job_id, 1, ""),
        Extension(stale.job_id, 9, ""),
        Extension(gone.job_id, 1, ""),
    ]

    lost = scene.run(calls.extend_many(scene.keys, 60_000, claims))

    assert lost == [stale.job_id, gone.job_id]


def test_56_pool_enqueue(scene: Scene) -> None:
    job_id = new_id()
    verdicts: list[Admission] = []
    callers = [
        threading.Thread(target=lambda: verdicts.append(scene.queue.enqueue(job_id, b"w")))
        for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert sorted(verdicts) == [Admission.ADMITTED] + [Admission.DUPLICATE] * 3
    assert scene.row(job_id) == {"state": "pending", "attempts": "0", "payload": "w"}
    assert scene.score("pending", job_id) == 0
    assert scene.queue.pending_size() == 1


def test_57_pool_order(scene: Scene) -> None:
    jobs = [new_id() for _ in range(40)]

    def admit(share: list[str]) -> None:
        for job_id in share:
            scene.queue.enqueue(job_id, b"w")

    callers = [threading.Thread(target=admit, args=(jobs[part::4],)) for part in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert scene.queue.browse(40) == jobs[::-1]
    assert [held.job_id for held in scene.queue.claim_many(LONG, 40)] == jobs
