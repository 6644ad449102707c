"""The payload of a Django task, and what tells two payloads apart (decisions 8 and 15)."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from echomq_app.protocol.errors import InvalidPayload, PayloadTooLarge

VERSION: Final = 1
_NONCE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass(slots=True, kw_only=True)
class TaskPayload:
    """What a Django task needs to run. ``expires_at`` is ms since 1970; ``meta`` is anything JSON."""

    task: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    max_attempts: int | None = None
    expires_at: int | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


_random: Final = random.Random()


def _reseed() -> None:
    _random.seed(os.urandom(32))


_reseed()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reseed)


def new_nonce() -> str:
    """Twelve URL-safe characters that no other payload carries. No secret: they only tell apart."""
    return urlsafe_b64encode(_random.randbytes(9)).decode("ascii")


def not_json(task: str, why: Exception) -> InvalidPayload:
    """The failure of an enqueue whose arguments JSON cannot hold."""
    return InvalidPayload(
        f"the arguments of {task} are not JSON: {why}. Pass ids, numbers, text, lists and dicts, and read "
        "the objects inside the task"
    )


def encode(payload: TaskPayload, *, limit: int | None = None) -> bytes:
    """UTF-8 JSON with a fresh nonce in ``meta``; ``PayloadTooLarge`` over ``limit`` bytes.

    ``InvalidPayload`` when an argument is not JSON.
    """
    body: dict[str, Any] = {
        "task": payload.task,
        "args": payload.args,
        "kwargs": payload.kwargs,
        "v": VERSION,
    }
    if payload.priority:
        body["priority"] = payload.priority
    if payload.max_attempts is not None:
        body["max_attempts"] = payload.max_attempts
    if payload.expires_at is not None:
        body["expires_at"] = payload.expires_at
    body["meta"] = {"nonce": new_nonce(), **payload.meta}
    try:
        raw = _encode(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise not_json(payload.task, error) from error
    if limit is not None and len(raw) > limit:
        raise PayloadTooLarge(
            f"the payload of {payload.task} is {len(raw)} bytes and the limit is {limit}: store the data and "
            "pass its key, or raise ECHOMQ['MAX_PAYLOAD_BYTES']"
        )
    return raw


def decode(raw: bytes) -> TaskPayload:
    """Read a payload of any producer; ``InvalidPayload`` says what is wrong with it."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidPayload(f"the payload is not UTF-8 JSON: {error}") from None
    if not isinstance(body, dict):
        raise InvalidPayload(f"the payload is not a JSON object; got {type(body).__name__}")
    get = body.get
    for name, kind in _KINDS:
        value = get(name)
        if type(value) is not kind and (value is not None or name == "task"):
            raise InvalidPayload(
                f"the payload's {name!r} is not {_KIND_WORDS[kind]}; "
                f"got {type(value).__name__} {value!r:.60}"
            )
    return TaskPayload(
        task=body["task"],
        args=get("args") or (),
        kwargs=get("kwargs") or {},
        priority=get("priority") or 0,
        max_attempts=get("max_attempts"),
        expires_at=get("expires_at"),
        meta=get("meta") or {},
    )


_KINDS: Final = (
    *(("task", str), ("args", list), ("kwargs", dict), ("meta", dict)),
    *((name, int) for name in ("priority", "max_attempts", "expires_at")),
)
_KIND_WORDS: Final = {str: "text", list: "an array", dict: "an object", int: "a whole number"}


def mark(raw: bytes) -> str:
    """What tells this payload from every other: its nonce, else its SHA-1 (decision 8)."""
    try:
        body = json.loads(raw)
        nonce = body["meta"]["nonce"]
    except (ValueError, RecursionError, TypeError, KeyError):
        nonce = None
    return _mark(nonce, raw)


def mark_of(read: TaskPayload, raw: bytes) -> str:
    """The ``mark`` of ``raw`` that was decoded already."""
    return _mark(read.meta.get("nonce"), raw)


def _mark(nonce: object, raw: bytes) -> str:
    if isinstance(nonce, str) and _NONCE.fullmatch(nonce):
        return nonce
    return hashlib.sha1(raw, usedforsecurity=False).hexdigest()
