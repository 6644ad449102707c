"""Where we differ from the golden traces on purpose: the decision, and what comes instead.

A trace that is not named here must come out the same, key by key and reply by reply; one that is
named must differ in just what is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

FIRST: Final = "JOB0JZGkP9ARCC"
SECOND: Final = "JOB0JZGkP9S2KG"
ROW: Final = f"emq:{{q}}:job:{FIRST}"
PENDING: Final = "emq:{q}:pending"
ACTIVE: Final = "emq:{q}:active"
SCHEDULE: Final = "emq:{q}:schedule"
DEAD: Final = "emq:{q}:dead"
COMPLETED: Final = "emq:{q}:metrics:completed"
STALE: Final = ["error", "stale"]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """``decision`` of the protocol; replies by step; keys by name, ``None`` for one that is not."""

    decision: int
    why: str
    replies: Mapping[int, Any] = field(default_factory=dict)
    keyspace: Mapping[str, Any] = field(default_factory=dict)


def row(**fields: str) -> dict[str, Any]:
    return {"type": "hash", "value": fields}


def members(*pairs: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "zset", "value": [list(pair) for pair in pairs]}


DIFFERENCES: Final[dict[str, Difference]] = {
    "claim_ghost": Difference(
        decision=5,
        why="a ghost is consumed, no skeleton is written, and the host asks again",
        replies={3: ["ok", [SECOND, "real", 1]], 4: "empty"},
        keyspace={ROW: None, ACTIVE: members((SECOND, "<ts>"))},
    ),
    "complete_unclaimed_token0": Difference(
        decision=4,
        why="no claim hands out token 0: the host refuses it",
        replies={1: "raise"},
        keyspace={
            ROW: row(state="pending", attempts="0", payload="w"),
            PENDING: members((FIRST, 0)),
            COMPLETED: None,
        },
    ),
    "complete_after_retry": Difference(
        decision=4,
        why="a job that its holder parked is not his any more",
        replies={3: STALE},
        keyspace={
            ROW: row(state="scheduled", attempts="1", payload="w", last_error="boom"),
            COMPLETED: None,
        },
    ),
    "complete_after_dead": Difference(
        decision=4,
        why="a job that its holder buried is not his any more",
        replies={3: STALE},
        keyspace={
            ROW: row(state="dead", attempts="1", payload="w", last_error="boom"),
            COMPLETED: None,
        },
    ),
    "retry_again_after_retry": Difference(
        decision=4,
        why="a second retry of one claim writes nothing",
        replies={3: STALE},
        keyspace={ROW: row(state="scheduled", attempts="1", payload="w", last_error="one")},
    ),
    "retry_unclaimed_token0": Difference(
        decision=4,
        why="no claim hands out token 0: the host refuses it",
        replies={1: "raise"},
        keyspace={
            ROW: row(state="pending", attempts="0", payload="w"),
            PENDING: members((FIRST, 0)),
            SCHEDULE: None,
        },
    ),
    "promote_ghost": Difference(
        decision=4,
        why="nothing is written to a row that does not exist; a ghost is dropped, uncounted",
        replies={3: ["ok", 0]},
        keyspace={ROW: None, PENDING: None},
    ),
    "reap_ghost": Difference(
        decision=4,
        why="nothing is written to a row that does not exist; a ghost is dropped, uncounted",
        replies={4: ["ok", 0]},
        keyspace={ROW: None, PENDING: None},
    ),
    "extend_after_reap": Difference(
        decision=4,
        why="a lease that lapsed and was reaped is over: no id in two sets",
        replies={4: STALE},
        keyspace={ACTIVE: None},
    ),
    "complete_leaves_logs": Difference(
        decision=11,
        why="nothing of a completed job remains, its log neither",
        keyspace={ROW + ":logs": None},
    ),
}
