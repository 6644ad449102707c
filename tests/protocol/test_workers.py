"""What workers tell of themselves, and what operators ask of them, on a real server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from echomq_app.protocol.keyspace import WORKERS, wish_key, worker_key
from echomq_app.protocol.states import Wish
from echomq_app.service.workers import (
    EVERYONE,
    MOST_JOBS,
    MOST_QUEUES,
    JobAtWork,
    WorkerRecord,
    Workers,
    decoded,
    encoded,
)
from echomq_app.wire.link import Wire
from tests.protocol.scene import Scene
from tests.servers.cluster import Cluster


def record(name: str = "host:1:aa", kind: str = "worker", **facts: Any) -> WorkerRecord:
    """A worker that has just started."""
    host, pid, _ = name.split(":")
    plain: dict[str, Any] = {
        "kind": kind,
        "host": host,
        "pid": int(pid),
        "version": "1.0",
        "started_ms": 1000,
    }
    return WorkerRecord(name=name, **(plain | facts))


@pytest.fixture
def workers(scene: Scene) -> Workers:
    return Workers(scene.wire)


def names(workers: Workers) -> list[str]:
    return [facts.record.name for facts in workers.list()]


def test_a_worker_that_registers_is_listed_with_all_that_it_told(workers: Workers) -> None:
    job = JobAtWork("mail", "JOB00000000001", "shop.send", 2.5)
    told = record(slots=8, queues=("mail", "slow"), running=1, jobs=(job,), state="quiet")

    assert workers.register(told) is None

    (facts,) = workers.list()
    assert facts.record == told
    assert 0 <= facts.seen_s < 5
    assert facts.wish is None


def test_what_a_worker_told_expires_and_its_name_is_struck_off_by_who_reads(
    workers: Workers, scene: Scene
) -> None:
    workers.register(record("host:1:aa"))
    workers.register(record("host:2:bb"))
    assert 25_000 < scene.client.pttl(worker_key("host:1:aa")) <= 30_000
    scene.client.delete(worker_key("host:1:aa"))

    assert names(workers) == ["host:2:bb"]
    assert scene.client.smembers(WORKERS) == {b"host:2:bb"}


def test_how_long_ago_it_was_heard_of_is_by_the_servers_clock(
    workers: Workers, scene: Scene
) -> None:
    workers.register(record())
    scene.client.pexpire(worker_key("host:1:aa"), 12_000)

    (facts,) = workers.list()

    assert facts.seen_s == pytest.approx(18.0, abs=1)


def test_a_worker_that_leaves_leaves_nothing(workers: Workers, scene: Scene) -> None:
    workers.register(record())
    workers.quiet("host:1:aa")

    workers.leave("host:1:aa")

    assert scene.snapshot() == {}


@pytest.mark.parametrize(
    ("verb", "wish"), [("quiet", Wish.QUIET), ("resume", Wish.SERVE), ("stop", Wish.STOP)]
)
def test_a_wish_waits_an_hour_and_is_heard_at_each_registration(
    workers: Workers, scene: Scene, verb: str, wish: Wish
) -> None:
    workers.register(record())

    assert getattr(workers, verb)("host:1:aa") == ["host:1:aa"]

    assert workers.register(record()) is wish
    assert workers.register(record()) is wish
    assert 3_500_000 < scene.client.pttl(wish_key("host:1:aa")) <= 3_600_000
    assert workers.list()[0].wish is wish


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("host:1:aa", ["host:1:aa"]),
        ("host:1", ["host:1:aa", "host:1:cc"]),
        ("host", ["host:12:bb", "host:1:aa", "host:1:cc"]),
        ("host:", ["host:12:bb", "host:1:aa", "host:1:cc"]),
        (EVERYONE, ["host:12:bb", "host:1:aa", "host:1:cc", "other:1:dd"]),
        ("hos", []),
        ("", []),
    ],
)
def test_a_name_is_whole_or_ends_before_a_colon(
    workers: Workers, asked: str, meant: list[str]
) -> None:
    for name in ("host:1:aa", "host:12:bb", "host:1:cc", "other:1:dd"):
        workers.register(record(name))

    assert workers.quiet(asked) == meant


def test_processes_hear_what_their_supervisor_is_asked_and_an_older_wish_of_their_own_ends(
    workers: Workers,
) -> None:
    above = record("host:1:aa", "supervisor")
    first, second = (record(f"host:{n}:bb", "child", above="host:1:aa") for n in (2, 3))
    for one in (above, first, second):
        workers.register(one)
    workers.quiet("host:1:aa")
    workers.resume("host:2:bb")
    assert [workers.register(one) for one in (first, second)] == [Wish.SERVE, Wish.QUIET]

    assert workers.quiet(EVERYONE) == ["host:1:aa"]

    assert [workers.register(one) for one in (first, second)] == [Wish.QUIET] * 2


def test_a_reaper_is_asked_to_stop_and_nothing_else(workers: Workers) -> None:
    workers.register(record(kind="reaper"))

    assert (workers.quiet(EVERYONE), workers.resume(EVERYONE)) == ([], [])
    assert workers.stop(EVERYONE) == ["host:1:aa"]


def test_a_standing_wish_is_written_anew_when_the_server_has_lost_it_and_over_no_other(
    workers: Workers, scene: Scene
) -> None:
    above = record("host:1:aa", "supervisor")
    workers.register(above, Wish.QUIET)
    assert workers.register(above) is Wish.QUIET

    workers.resume("host:1:aa")
    workers.register(above, Wish.QUIET)

    assert workers.register(above) is Wish.SERVE


def test_a_full_server_lists_nobody_anew_and_still_tells_a_wish(
    workers: Workers, scene: Scene
) -> None:
    workers.register(record())
    workers.stop("host:1:aa")
    scene.client.config_set("maxmemory", "1")
    try:
        assert workers.register(record("host:1:aa")) is Wish.STOP
        assert workers.register(record("host:2:bb")) is None
    finally:
        scene.client.config_set("maxmemory", "0")

    assert names(workers) == ["host:1:aa"]


def test_of_many_queues_and_jobs_the_first_are_told() -> None:
    many = record(
        queues=tuple(f"q{number}" for number in range(1000)),
        jobs=tuple(JobAtWork("q", "JOB00000000001", "t", 1.0) for _ in range(1000)),
        running=1000,
    )

    told = decoded(encoded(many))

    assert told is not None
    assert (len(told.queues), len(told.jobs), told.running) == (MOST_QUEUES, MOST_JOBS, 1000)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b"{}",
        encoded(record()).replace(b'"pid":1', b'"pid":"1"'),
        encoded(record()).replace(b'"slots":null', b'"slots":"8"'),
        encoded(record()).replace(b'"jobs":[]', b'"jobs":[1]'),
        encoded(record()).replace(b'"queues":[]', b'"queues":1'),
    ],
)
def test_what_is_no_record_hides_no_other(workers: Workers, scene: Scene, raw: bytes) -> None:
    workers.register(record("host:1:aa"))
    workers.register(record("host:2:bb"))
    scene.client.set(worker_key("host:1:aa"), raw, keepttl=True)

    assert names(workers) == ["host:2:bb"]


def test_facts_of_a_later_release_are_passed_over() -> None:
    later = json.loads(encoded(record())) | {"mood": "good"}

    assert decoded(json.dumps(later).encode()) == record()


def test_a_word_that_is_no_wish_is_none(workers: Workers, scene: Scene) -> None:
    scene.client.set(wish_key("host:1:aa"), "dance")

    assert workers.register(record()) is None


def test_on_a_cluster_workers_share_the_slot_of_the_reserve(cluster: Cluster) -> None:
    workers = Workers(Wire(cluster.client()))
    workers.register(record("host:1:aa", "supervisor"))
    workers.register(record("host:2:bb", "child", above="host:1:aa"))

    assert workers.stop(EVERYONE) == ["host:1:aa"]
    assert names(workers) == ["host:1:aa", "host:2:bb"]
    assert workers.register(record("host:1:aa", "supervisor")) is Wish.STOP
    for name in names(workers):
        workers.leave(name)
    assert names(workers) == []
