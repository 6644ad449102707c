from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidJobId, InvalidLane, InvalidQueueName
from echomq_app.protocol.keyspace import (
    NODES,
    QUEUES,
    VERSION,
    WORKERS,
    QueueKeys,
    slot,
    valid_queue_name,
    wish_key,
    worker_key,
)

JOB = "JOB0KHTOWnGLuC"
SLOTS = [
    ("123456789", 12739),
    ("emq:{orders}:pending", 105),
    ("emq:{payments}:job:" + JOB, 8507),
    ("emq:{default}:", 5718),
    ("{emq}:version", 9051),
    ("emq:{}:pending", 7387),
    ("emq:{a}{b}:x", 15495),
]


@pytest.mark.parametrize(("key", "number"), SLOTS)
def test_a_key_has_the_slot_that_a_cluster_gives_it(key: str, number: int) -> None:
    assert slot(key) == slot(key.encode()) == number


@pytest.mark.parametrize("name", ["q", "a:b", "Ünïcode", "with space", "x" * 128, "emq2", "é" * 64])
def test_a_queue_may_have_a_name_that_keeps_its_keys_in_one_slot(name: str) -> None:
    keys = QueueKeys(name)

    assert valid_queue_name(name) == name
    assert len({slot(keys.pending), slot(keys.row(JOB)), slot(keys.base), slot(keys.wake)}) == 1


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "a queue name is not empty: an empty hash tag has no slot of its own"),
        ("emq", "the queue name 'emq' is the protocol's own; choose another"),
        ("a{b", "a queue name holds no '{', '}' or NUL; got 'a{b'"),
        ("a}b", "a queue name holds no '{', '}' or NUL; got 'a}b'"),
        ("a\0b", "a queue name holds no '{', '}' or NUL; got 'a\\x00b'"),
        ("x" * 129, f"a queue name is at most 128 bytes; got 129: '{'x' * 59}"),
        ("é" * 65, f"a queue name is at most 128 bytes; got 130: '{'é' * 59}"),
        ("\ud800", "a queue name is valid UTF-8; got '\\ud800'"),
        (None, "a queue name is text; got NoneType None"),
        (b"q", "a queue name is text; got bytes b'q'"),
    ],
)
def test_a_refused_queue_name_says_what_is_wrong_with_it(name: object, sentence: str) -> None:
    with pytest.raises(InvalidQueueName) as refused:
        valid_queue_name(name)

    assert str(refused.value) == sentence


@pytest.mark.parametrize("name", ["", "emq", "a{b", "a}b", "a\0b"])
def test_no_key_is_built_for_a_refused_name(name: str) -> None:
    with pytest.raises(InvalidQueueName):
        QueueKeys(name)


def test_every_key_of_a_queue_is_spelled_as_the_protocol_spells_it() -> None:
    keys = QueueKeys("orders")

    assert keys.base == "emq:{orders}:"
    assert keys.pending == "emq:{orders}:pending"
    assert keys.active == "emq:{orders}:active"
    assert keys.schedule == "emq:{orders}:schedule"
    assert keys.dead == "emq:{orders}:dead"
    assert keys.meta == "emq:{orders}:meta"
    assert keys.wake == "emq:{orders}:wake"
    assert keys.done == "emq:{orders}:done"
    assert keys.expire == "emq:{orders}:expire"
    assert keys.events == "emq:{orders}:events"
    assert keys.ring == "emq:{orders}:ring"
    assert keys.paused == "emq:{orders}:paused"
    assert keys.groups == "emq:{orders}:groups"
    assert keys.glimit == "emq:{orders}:glimit"
    assert keys.gweight == "emq:{orders}:gweight"
    assert keys.row(JOB) == f"emq:{{orders}}:job:{JOB}"
    assert keys.logs(JOB) == f"emq:{{orders}}:job:{JOB}:logs"
    assert keys.errors(JOB) == f"emq:{{orders}}:job:{JOB}:errors"
    assert keys.result(JOB) == f"emq:{{orders}}:result:{JOB}"
    assert keys.lane("PRT0JZGkPbGj4a") == "emq:{orders}:g:PRT0JZGkPbGj4a:pending"


def test_the_reserve_has_a_slot_that_no_queue_shares_by_name() -> None:
    assert (VERSION, NODES, QUEUES) == ("{emq}:version", "{emq}:nodes", "{emq}:queues")
    ours = (VERSION, NODES, QUEUES, WORKERS, worker_key("a:1"), wish_key("a:1"))
    assert set(map(slot, ours)) == {9051}


@pytest.mark.parametrize("build", ["row", "logs", "errors", "result"])
def test_no_key_is_built_from_a_malformed_id(build: str) -> None:
    with pytest.raises(InvalidJobId, match="a job id is 14 ASCII characters"):
        getattr(QueueKeys("q"), build)("nope")


def test_no_key_is_built_from_a_lane_that_is_none() -> None:
    with pytest.raises(InvalidLane, match="a lane is named by a branded id"):
        QueueKeys("q").lane("nope")
