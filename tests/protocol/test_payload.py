from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from echomq_app.protocol.errors import InvalidPayload, PayloadTooLarge
from echomq_app.protocol.payload import TaskPayload, decode, encode, mark, new_nonce
from tests.protocol.scene import Scene

LIVES = timedelta(minutes=1)


def test_a_plain_task_is_the_json_object_of_the_protocol() -> None:
    body = json.loads(
        encode(TaskPayload(task="shop.tasks.mail", args=[1, "é"], kwargs={"a": None}))
    )

    nonce = body["meta"].pop("nonce")
    assert body == {
        "task": "shop.tasks.mail",
        "args": [1, "é"],
        "kwargs": {"a": None},
        "v": 1,
        "meta": {},
    }
    assert len(nonce) == 12


def test_what_is_set_is_written_and_comes_back() -> None:
    payload = TaskPayload(
        task="t.f",
        args=["x"],
        kwargs={"k": [1.5, True]},
        priority=3,
        max_attempts=7,
        expires_at=1_780_000_000_000,
        meta={"nonce": "mine", "trace": "abc"},
    )

    assert decode(encode(payload)) == payload


def test_a_payload_of_any_language_needs_the_task_alone() -> None:
    assert decode(b'{"task": "t.f"}') == TaskPayload(task="t.f")


def test_what_a_reader_does_not_know_is_ignored() -> None:
    assert decode(b'{"task": "t.f", "v": 9, "later": {}}') == TaskPayload(task="t.f")


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"\xff", "the payload is not UTF-8 JSON: "),
        (b"hello", "the payload is not UTF-8 JSON: "),
        (b"[1]", "the payload is not a JSON object; got list"),
        (b"{}", "the payload's 'task' is not text; got NoneType None"),
        (b'{"task": 5}', "the payload's 'task' is not text; got int 5"),
        (b'{"task": "t", "args": {}}', "the payload's 'args' is not an array; got dict {}"),
        (b'{"task": "t", "kwargs": []}', "the payload's 'kwargs' is not an object; got list []"),
        (b'{"task": "t", "meta": "m"}', "the payload's 'meta' is not an object; got str 'm'"),
        (
            b'{"task": "t", "max_attempts": true}',
            "the payload's 'max_attempts' is not a whole number; got bool True",
        ),
        (
            b'{"task": "t", "expires_at": 1.5}',
            "the payload's 'expires_at' is not a whole number; got float 1.5",
        ),
        (b"[" * 100_000, "the payload is not UTF-8 JSON: "),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_payload_that_is_no_task_says_what_is_wrong_with_it(raw: bytes, sentence: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        decode(raw)

    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(
    "argument", [datetime(2026, 1, 1, tzinfo=UTC), object(), {1, 2}, float("nan")]
)
def test_an_argument_that_is_not_json_is_refused_with_advice(argument: Any) -> None:
    with pytest.raises(InvalidPayload) as refused:
        encode(TaskPayload(task="shop.tasks.mail", args=[argument]))

    assert str(refused.value).startswith("the arguments of shop.tasks.mail are not JSON: ")
    assert str(refused.value).endswith(
        "Pass ids, numbers, text, lists and dicts, and read the objects inside the task"
    )


def test_a_payload_over_the_limit_is_refused_with_both_sizes() -> None:
    task = TaskPayload(task="t.f", args=["x" * 100], meta={"nonce": "n"})
    size = len(encode(task))

    assert len(encode(task, limit=size)) == size
    with pytest.raises(PayloadTooLarge) as refused:
        encode(task, limit=size - 1)

    assert str(refused.value) == (
        f"the payload of t.f is {size} bytes and the limit is {size - 1}: store the data and pass "
        "its key, or raise ECHOMQ['MAX_PAYLOAD_BYTES']"
    )


def test_two_payloads_of_one_call_have_marks_of_their_own() -> None:
    task = TaskPayload(task="t.f")

    assert mark(encode(task)) != mark(encode(task))
    assert len({new_nonce() for _ in range(1000)}) == 1000


MARKED = [
    (b'{"task": "t", "meta": {"nonce": "aZ09_-"}}', "aZ09_-"),
    (b'{"task": "t", "meta": {"nonce": "two words"}}', None),
    (b'{"task": "t", "meta": {"nonce": ""}}', None),
    (b'{"task": "t", "meta": {"nonce": 5}}', None),
    (b'{"task": "t", "meta": []}', None),
    (b'{"task": "t"}', None),
    (b"[1]", None),
    (b"plain text", None),
    (b"\xff\x00", None),
    (b"", None),
]


@pytest.mark.parametrize(("raw", "nonce"), MARKED)
def test_a_mark_is_the_nonce_or_else_the_hash(raw: bytes, nonce: str | None) -> None:
    assert mark(raw) == (nonce or hashlib.sha1(raw).hexdigest())


@pytest.mark.parametrize("raw", [raw for raw, _ in MARKED])
def test_script_and_host_read_the_same_mark(scene: Scene, raw: bytes) -> None:
    job_id = scene.enqueue(raw)

    scene.queue.remove(job_id, receipt_for=LIVES)

    assert scene.client.get(scene.keys.result(job_id)).split()[0].decode() == mark(raw)
