"""A queue as it stands on the server, read in one round trip, and held against the truth."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import redis
from redis.cluster import RedisCluster

from echomq_app.protocol import replies
from echomq_app.protocol.keyspace import WAKE_LIMIT, QueueKeys
from tests.model.lane_truth import LaneTruth
from tests.model.lives import STATES
from tests.model.truth import Truth

READ: Final = """
local reads = { zset = { 'ZRANGE', 0, -1, 'WITHSCORES' }, hash = { 'HGETALL' },
  list = { 'LRANGE', 0, -1 }, set = { 'SMEMBERS' }, string = { 'GET' } }
local found = {}
for _, key in ipairs(redis.call('KEYS', KEYS[1] .. '*')) do
  local kind = redis.call('TYPE', key).ok
  local read = reads[kind]
  local value = redis.call(read[1], key, unpack(read, 2))
  found[#found + 1] = { string.sub(key, #KEYS[1] + 1), kind, redis.call('PTTL', key), value }
end
return found
"""
ID: Final = r"JOB[0-9A-Za-z]{11}"
KNOWN: Final = re.compile(
    r"pending|active|schedule|dead|meta|wake|done|outcomes|expire|metrics:(completed|failed)"
    rf"|ring|gactive|glimit|gweight|paused|groups|g:[A-Z]{{3}}[0-9A-Za-z]{{11}}:pending|job:{ID}(:logs|:errors)?|result:{ID}"
)
MUST_EXPIRE: Final = re.compile(rf"job:{ID}:(logs|errors)|result:{ID}")


@dataclass(frozen=True)
class View:
    """Keys after the queue's base, by type; ``ttl`` in ms, below zero for none."""

    zsets: Mapping[str, Mapping[str, int]]
    hashes: Mapping[str, Mapping[str, str]]
    lists: Mapping[str, list[str]]
    sets: Mapping[str, list[str]]
    strings: Mapping[str, bytes]
    ttl: Mapping[str, int]

    @classmethod
    def read(cls, client: redis.Redis | RedisCluster, keys: QueueKeys) -> View:
        by_kind: dict[str, dict[str, Any]] = {
            kind: {} for kind in ("zset", "hash", "list", "set", "string")
        }
        ttl = {}
        for name, kind, left_ms, value in client.eval(READ, 1, keys.base):
            key = replies.text(name)
            ttl[key] = int(left_ms)
            by_kind[replies.text(kind)][key] = _READERS[replies.text(kind)](value)
        return cls(
            by_kind["zset"],
            by_kind["hash"],
            by_kind["list"],
            by_kind["set"],
            by_kind["string"],
            ttl,
        )

    @property
    def rows(self) -> dict[str, Mapping[str, str]]:
        return {key[4:]: fields for key, fields in self.hashes.items() if key.startswith("job:")}

    def members(self, set_name: str) -> set[str]:
        return set(self.zsets.get(set_name, ()))

    def homes(self) -> list[str]:
        """The sets that a job can stand in."""
        return [*STATES, *(name for name in self.zsets if name.startswith("g:"))]

    def check(self, truth: LaneTruth) -> None:
        """Every invariant of the queue; the first broken one raises ``AssertionError``."""
        self._check_keys()
        self._check_places(truth)
        for job_id, row in self.rows.items():
            self._check_row(truth, job_id, row)
        self._check_retained(truth)
        self._check_books(truth)
        self._check_lanes(truth)

    def _check_keys(self) -> None:
        for key, left_ms in self.ttl.items():
            assert KNOWN.fullmatch(key), f"a key that nobody knows: {key}"
            if MUST_EXPIRE.fullmatch(key):
                assert left_ms >= 0, f"{key} would stay for ever"
        wake = len(self.lists.get("wake", ()))
        assert wake <= WAKE_LIMIT, f"the wake list has {wake} tokens"

    def _check_places(self, truth: Truth) -> None:
        homes = {name: self.members(name) for name in self.homes()}
        for job_id in self.rows:
            stands = [name for name, members in homes.items() if job_id in members]
            assert len(stands) == 1, f"{job_id} has a row and stands in {stands or 'no set'}"
        rows, must = set(self.rows), set(truth.lives)
        assert rows == must, f"rows that are lost: {must - rows}, too many: {rows - must}"
        for name, members in homes.items():
            assert members == truth.of(name), f"{name}: {members}, and must be {truth.of(name)}"

    def _check_row(self, truth: Truth, job_id: str, row: Mapping[str, str]) -> None:
        life = truth.lives[job_id]
        missing = {"state", "attempts", "payload"} - set(row)
        assert not missing, f"{job_id} is a skeleton without {missing}"
        must = {
            "state": STATES[life.place],
            "attempts": str(life.attempts),
            "payload": life.payload.decode(),
            "excused": str(life.excused),
            "lapses": str(life.lapses),
            "worker": life.worker,
            "last_error": life.last_error,
            "progress": life.progress,
            "group": life.group,
        }
        absent = {"excused": "0", "lapses": "0", "worker": "", "group": ""}
        seen = {name: row.get(name, absent.get(name)) for name in must}
        assert seen == must, f"{job_id}: {seen}, and must be {must}"

    def _check_retained(self, truth: Truth) -> None:
        receipts = {key[7:]: raw for key, raw in self.strings.items() if key.startswith("result:")}
        listed, done, outcomes = map(self.members, ("expire", "done", "outcomes"))
        assert set(receipts) <= listed, f"kept and not in expire: {set(receipts) - listed}"
        assert done == outcomes, f"done {done} and outcomes {outcomes} differ"
        assert done <= listed, f"done and not in expire: {done - listed}"
        assert listed == set(truth.retained.kept), (
            f"expire lists {listed}, and must list {set(truth.retained.kept)}"
        )
        assert done == set(truth.retained.outcomes()), (
            f"done lists {done}, and must list {truth.retained.outcomes()}"
        )
        for job_id, kept in truth.retained.kept.items():
            read = replies.receipt(receipts.get(job_id))
            if kept.over:
                assert read is None, f"{job_id}: a receipt outlived its time"
                continue
            assert read is not None, f"{job_id}: its receipt is lost"
            must = (kept.mark, kept.token, kept.label, kept.outcome)
            assert (read.mark, read.token, read.label, read.outcome) == must, (
                f"{job_id} left {read}, and must have left {must}"
            )

    def _check_books(self, truth: Truth) -> None:
        paused = "paused" in self.hashes.get("meta", {})
        assert paused == truth.paused, f"paused: {paused}"
        for name, must in (("completed", truth.completed), ("failed", truth.failed)):
            seen = int(self.hashes.get(f"metrics:{name}", {}).get("count", 0))
            assert seen == must, f"{seen} counted as {name}, and {must} were"
        for kind, lines in (("logs", truth.logs), ("errors", truth.reports)):
            kept = {k[4:18]: len(v) for k, v in self.lists.items() if k.endswith(f":{kind}")}
            assert kept == lines, f"{kind}: {kept}, and must be {lines}"

    def _check_lanes(self, truth: LaneTruth) -> None:
        lanes = {life.group for life in truth.lives.values() if life.group}
        running = {group: truth.running_in(group) for group in lanes}
        counted = {group: int(n) for group, n in self.hashes.get("gactive", {}).items()}
        assert counted == {g: n for g, n in running.items() if n}, f"gactive: {counted}"
        servable = truth.servable()
        ring = self.lists.get("ring", [])
        assert len(ring) == len(servable), f"the ring holds {ring}, and must hold {servable}"
        assert set(ring) == servable, f"the ring holds {ring}, and must hold {servable}"
        parked = set(self.sets.get("paused", ()))
        assert parked == truth.parked, f"parked: {parked}, and must be {truth.parked}"
        for name, must in (("glimit", truth.limits), ("gweight", truth.weights)):
            seen = {group: int(n) for group, n in self.hashes.get(name, {}).items()}
            assert seen == must, f"{name}: {seen}, and must be {must}"


def _scores(raw: list[Any]) -> dict[str, int]:
    pairs = zip(raw[::2], raw[1::2], strict=True)
    return {replies.text(member): int(float(score)) for member, score in pairs}


def _fields(raw: list[bytes]) -> dict[str, str]:
    return {
        replies.text(name): replies.text(value)
        for name, value in zip(raw[::2], raw[1::2], strict=True)
    }


def _texts(raw: list[bytes]) -> list[str]:
    return [replies.text(item) for item in raw]


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "zset": _scores,
    "hash": _fields,
    "list": _texts,
    "set": _texts,
    "string": bytes,
}
