"""Leases: taken and renewed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call, Word, lease_ms, scripted, token_word, whole
from echomq_app.protocol.ids import JobId, valid_job_id
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Repeat

MAX_CLAIMS: Final = 1000


class Extension(NamedTuple):
    """A lease to renew: the claim's id, token and label."""

    job_id: str
    token: int
    label: str


def is_paused(keys: QueueKeys) -> Call[bool]:
    """Whether the pause flag has any value; a meta that cannot be read counts as paused."""
    return Call(
        "is_paused", None, (keys.meta,), ("HGET", keys.meta, "paused"), replies.paused, Repeat.SAFE
    )


def claim(keys: QueueKeys, lease: int, label: str = "") -> Call[replies.Claimed | None]:
    """The seed's claim: one job or ``None``. Read ``is_paused`` first; it is not inside."""
    args: tuple[Word, ...] = (lease_ms(lease), label) if label else (lease_ms(lease),)
    return scripted(
        "claim", (keys.pending, keys.active, keys.base), args, replies.claimed, Repeat.NEVER
    )


def claim_many(
    keys: QueueKeys, lease: int, size: int, label: str = ""
) -> Call[list[replies.Claimed]]:
    """Up to ``size`` of the oldest jobs, one deadline; empty when paused or when none waits."""
    return scripted(
        "claim_many",
        (keys.pending, keys.active, keys.dead, keys.base, keys.wake),
        (lease_ms(lease), whole("a batch size", size, 1, MAX_CLAIMS), label),
        replies.claims,
        Repeat.NEVER,
    )


def extend(keys: QueueKeys, job_id: str, token: int, lease: int, label: str = "") -> Call[bool]:
    """Renew a lease; ``False`` when the job is gone, ``Stale`` when another claim holds it."""
    args = (job_id, token_word(token), lease_ms(lease), label)
    return scripted("extend", (keys.active, keys.row(job_id)), args, replies.held)


def extend_many(keys: QueueKeys, lease: int, claims: Sequence[Extension]) -> Call[list[JobId]]:
    """Renew many leases to one deadline; the ids that the caller holds no more."""
    args: list[Word] = [lease_ms(lease)]
    for job_id, token, label in claims:
        args += [valid_job_id(job_id), token_word(token), label]
    return scripted("extend_many", (keys.active, keys.base), args, replies.job_ids)
