"""The verbs of a holder as one table, so that each rule of settling is tried on all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call, Retention
from echomq_app.protocol.keyspace import QueueKeys

Settle = Callable[[QueueKeys, str, int, str], Call[Any]]
KEEP = Retention(mark="m", receipt_ms=60_000, outcome=b"{}", result_ms=60_000, limit=10)


def complete(keys: QueueKeys, job_id: str, token: int, label: str) -> Call[Any]:
    return calls.complete(keys, job_id, token, label)


def complete_keep(keys: QueueKeys, job_id: str, token: int, label: str) -> Call[Any]:
    return calls.complete(keys, job_id, token, label, KEEP)


def retry(keys: QueueKeys, job_id: str, token: int, label: str) -> Call[Any]:
    return calls.retry(
        keys, job_id, token, delay_ms=60_000, max_attempts=9, error="boom", label=label
    )


def bury(keys: QueueKeys, job_id: str, token: int, label: str) -> Call[Any]:
    return calls.retry(keys, job_id, token, delay_ms=0, max_attempts=0, error="boom", label=label)


def release(keys: QueueKeys, job_id: str, token: int, label: str) -> Call[Any]:
    return calls.release(keys, job_id, token, label)


def delay(keys: QueueKeys, job_id: str, token: int, label: str) -> Call[Any]:
    return calls.delay_in(keys, job_id, token, 60_000, label)


def extend(keys: QueueKeys, job_id: str, token: int, label: str) -> Call[Any]:
    return calls.extend(keys, job_id, token, 60_000, label)


SETTLES: tuple[Settle, ...] = (complete, complete_keep, retry, bury, release, delay, extend)
ENDING: tuple[Settle, ...] = (complete, complete_keep, retry, bury)
HELD_ONLY: tuple[Settle, ...] = (release, delay, extend)
PARKING: tuple[Settle, ...] = (retry, bury, release, delay)


def verb_of(settle: Settle) -> str:
    """The word that a settle writes into ``settled``."""
    return "retry" if settle is bury else settle.__name__
