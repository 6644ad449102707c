"""Scenes to come back to, and what is wrong with one after a call that met something spoilt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import redis

from echomq_app.protocol.calls import Call
from tests.protocol.every_case import EVERY_CASE
from tests.protocol.scene import SETS, Scene
from tests.protocol.watch import watching

REFUSALS = ("EMQKIND", "EMQSTALE", "EMQSTATE", "EMQLOCK", "EMQRATE", "ERR")
SEEDS_ORDER = "claim"
"""Pops before it looks, as the seed does (decision 5): test_claim says what that loses."""
ACCEPTED = [case for case in EVERY_CASE if case.answer not in REFUSALS and case.verb != SEEDS_ORDER]


@dataclass(frozen=True)
class Saved:
    """Every key of a scene, as the server dumps it, to come back to."""

    keys: dict[bytes, tuple[bytes, int]]

    def restore(self, client: redis.Redis) -> None:
        client.flushall()
        for key, (dump, left_ms) in self.keys.items():
            client.restore(key, max(left_ms, 0), dump)


def save(client: Any) -> Saved:
    return Saved({key: (client.dump(key), client.pttl(key)) for key in client.keys("*")})


def touched_keys(scene: Scene, call: Call[Any]) -> list[str]:
    """What the call touches where nothing is wrong."""
    with watching(scene.client) as watched:
        run(scene, call)
    return sorted(key for key in watched.keys(scene.client) if not key.endswith(":events"))


def run(scene: Scene, call: Call[Any]) -> Any:
    assert call.script is not None
    return scene.client.eval(call.script.text, len(call.keys), *call.keys, *call.args)


def in_two_sets(scene: Scene) -> set[str]:
    """The ids that more than one set of the queue holds."""
    found: dict[str, int] = {}
    lanes = [key.decode() for key in scene.client.keys(scene.key("g:*:pending"))]
    for key in [*map(scene.key, SETS), *lanes]:
        if scene.client.type(key) == b"zset":
            for member in scene.client.zrange(key, 0, -1):
                found[member.decode()] = found.get(member.decode(), 0) + 1
    return {job_id for job_id, count in found.items() if count > 1}


def faults(scene: Scene, call: Call[Any], what: str, *, named: bool = False) -> list[str]:
    """What is wrong after the call met ``what``; ``named``: its refusals must be the script's own."""
    before = scene.snapshot()
    try:
        run(scene, call)
    except redis.ResponseError as refusal:
        found = []
        if scene.snapshot() != before:
            found.append(f"{what}: half-written before {refusal}")
        if named and "script" in str(refusal):
            found.append(f"{what}: failed without a name: {refusal}")
        return found
    doubled = in_two_sets(scene)
    return [f"{what}: in two sets: {doubled}"] if doubled else []
