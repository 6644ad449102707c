"""Fair lanes (protocol 4.16): jobs of one queue that share it by turns, each lane with its own books."""

from __future__ import annotations

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call, command, lease_ms, scripted, whole
from echomq_app.protocol.calls.claiming import MAX_CLAIMS
from echomq_app.protocol.keyspace import QueueKeys, valid_lane
from echomq_app.protocol.states import Admission, Reassigned, Repeat


def lane_enqueue(keys: QueueKeys, lane: str, job_id: str, payload: bytes) -> Call[Admission]:
    """Admit a job to a lane, and put the lane into rotation when it can be served."""
    names = (keys.row(job_id), keys.base, keys.result(job_id))
    return scripted("lane_enqueue", names, (job_id, payload, valid_lane(lane)), replies.admission)


def lane_claim(
    keys: QueueKeys, lease: int, size: int, label: str = ""
) -> Call[list[replies.Claimed]]:
    """Up to ``size`` of the oldest jobs of the next lane, one deadline; its ceiling is kept."""
    return _turn("lane_claim", keys, lease, size, label)


def lane_claim_weighted(
    keys: QueueKeys, lease: int, size: int, label: str = ""
) -> Call[list[replies.Claimed]]:
    """As many jobs of the next lane as its weight says, ``size`` at most; its ceiling is kept."""
    return _turn("lane_claim_weighted", keys, lease, size, label)


def _turn(
    verb: str, keys: QueueKeys, lease: int, size: int, label: str
) -> Call[list[replies.Claimed]]:
    args = (lease_ms(lease), whole("a batch size", size, 1, MAX_CLAIMS), label)
    names = (keys.active, keys.dead, keys.base)
    return scripted(verb, names, args, replies.lane_claims, Repeat.NEVER)


def lane_pause(keys: QueueKeys, lane: str) -> Call[bool]:
    """Take a lane out of rotation with what waits in it; whether that changed anything."""
    return scripted("lane_pause", (keys.paused, keys.ring), (valid_lane(lane),), bool)


def lane_resume(keys: QueueKeys, lane: str) -> Call[bool]:
    """Put a parked lane back in rotation; whether that changed anything."""
    return scripted("lane_resume", (keys.paused, keys.base), (valid_lane(lane),), bool)


def lane_limit(keys: QueueKeys, lane: str, most: int | None) -> Call[None]:
    """At most ``most`` jobs of the lane run at a time; ``None`` lifts the ceiling."""
    limit = 0 if most is None else whole("a lane's ceiling", most, 1)
    names = (keys.glimit, keys.ring, keys.base)
    return scripted("lane_limit", names, (valid_lane(lane), limit), replies.nothing)


def lane_weight(keys: QueueKeys, lane: str, weight: int | None) -> Call[None]:
    """A turn of the lane gives ``weight`` jobs to a weighted claim; ``None``: one, as at first."""
    share = 0 if weight is None else whole("a lane's weight", weight, 1)
    return scripted("lane_weight", (keys.gweight,), (valid_lane(lane), share), replies.nothing)


def lane_reassign(keys: QueueKeys, job_id: str, lane: str) -> Call[Reassigned]:
    """Move a job that waits in one lane to another."""
    names = (keys.row(job_id), keys.base)
    return scripted("lane_reassign", names, (job_id, valid_lane(lane)), replies.reassigned)


def lane_drain(
    keys: QueueKeys, lane: str, limit: int, *, label: str = "", receipt_ms: int = 0
) -> Call[int]:
    """End at most ``limit`` jobs that wait in a lane; fewer when nothing waits in it any more."""
    limit, receipt_ms = whole("a limit", limit, 1), whole("receipt_ms", receipt_ms, 0)
    args = (valid_lane(lane), limit, label, receipt_ms)
    return scripted("lane_drain", (keys.base,), args, replies.number)


def lane_reap(keys: QueueKeys, lane: str, limit: int, offset: int = 0) -> Call[replies.LaneReap]:
    """Look at ``limit`` lapsed jobs after the first ``offset``; those of the lane come back."""
    args = (valid_lane(lane), whole("a limit", limit, 1), whole("an offset", offset, 0))
    return scripted("lane_reap", (keys.active, keys.pending, keys.base), args, replies.lane_reap)


def lane_depth(keys: QueueKeys, lane: str) -> Call[int]:
    """How many jobs wait in a lane."""
    key = keys.lane(lane)
    return command(key, "ZCARD", key, read=replies.number)


def known_lanes(keys: QueueKeys) -> Call[list[str]]:
    """The lanes that have waiting or running jobs, sorted, as our verbs and the pump saw them."""
    return command(keys.groups, "SMEMBERS", keys.groups, read=replies.names)
