"""A queue held against its invariant: a job is in one place, or has ended, or somebody says what is wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import redis
from redis.cluster import RedisCluster

from echomq_app.protocol import replies
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.replies import Receipt
from tests.model.lives import STATES
from tests.model.view import View

BORN_WITH: Final = frozenset({"state", "attempts", "payload"})
RESULT: Final = "result:"
ENDED_LISTS: Final = ("done", "outcomes", "expire")


def census(
    client: redis.Redis | RedisCluster, keys: QueueKeys, admitted: Collection[str]
) -> list[str]:
    """What is wrong with the queue at this instant, in sentences; empty when all is well.

    ``admitted``: the jobs that were admitted and that nobody has removed.
    """
    view = View.read(client, keys)
    ended = {name.removeprefix(RESULT) for name in view.strings if name.startswith(RESULT)}
    return [
        *_lost_or_unknown(set(view.rows) | ended, set(admitted)),
        *_misplaced(view, ended),
        *_broken_rows(view),
        *_broken_ends(view, ended),
    ]


def receipts(view: View) -> dict[str, Receipt]:
    """By job: who settled it, of those that have ended."""
    kept = {name.removeprefix(RESULT): raw for name, raw in view.strings.items()}
    read = {job: replies.receipt(raw) for job, raw in kept.items()}
    return {job: receipt for job, receipt in read.items() if receipt is not None}


def _lost_or_unknown(found: set[str], admitted: set[str]) -> Iterator[str]:
    for job in sorted(admitted - found):
        yield f"{job} was admitted and is nowhere"
    for job in sorted(found - admitted):
        yield f"{job} is here and was never admitted"


def _misplaced(view: View, ended: set[str]) -> Iterator[str]:
    homes = {name: view.members(name) for name in view.homes()}
    for job, row in view.rows.items():
        places = [name for name, members in homes.items() if job in members]
        if len(places) != 1:
            yield f"{job} has a row and stands in {places or 'no set'}"
        elif row.get("state") != (told := STATES.get(places[0], "pending")):
            yield f"{job} stands in {places[0]} and its row says {row.get('state')}, not {told}"
        if job in ended:
            yield f"{job} has ended and has a row"
    for name, members in homes.items():
        for job in sorted(members - set(view.rows)):
            yield f"{job} stands in {name} and has no row"


def _broken_rows(view: View) -> Iterator[str]:
    for job, row in view.rows.items():
        if missing := BORN_WITH - set(row):
            yield f"{job} has a row without {sorted(missing)}"
        token = row.get("worker", "").partition(" ")[0]
        if job in view.members("active") and token != row.get("attempts"):
            yield f"{job} is held under token {token or 'none'}, and its last is {row.get('attempts')}"
        if job in view.members("dead") and not row.get("last_error"):
            yield f"{job} is dead and nobody says why"


def _broken_ends(view: View, ended: set[str]) -> Iterator[str]:
    for job in sorted(ended):
        if replies.receipt(view.strings[RESULT + job]) is None:
            yield f"{job} has ended and its receipt cannot be read"
        if job not in view.members("expire"):
            yield f"{job} has ended and nobody will forget it"
    for name in ENDED_LISTS:
        for job in sorted(view.members(name) - ended):
            yield f"{job} is listed in {name} and has not ended"
    counted = int(view.hashes.get("metrics:completed", {}).get("count", "0"))
    if counted != len(ended):
        yield f"{counted} completions were counted and {len(ended)} jobs have ended"
