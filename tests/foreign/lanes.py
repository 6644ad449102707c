"""Fair lanes as another program speaks them (protocol 4.16): who fills them and who claims.

Written from the description, so that our own verbs meet somebody else's.
"""

from __future__ import annotations

from typing import NamedTuple

from echomq_app.protocol.keyspace import QueueKeys
from tests.foreign.seeds import Speaker, say

RERING = """
local function rering(ring, paused, glimit, wake, group, running)
  if redis.call('SISMEMBER', paused, group) == 1 then return end
  local limit = redis.call('HGET', glimit, group)
  if limit and running >= tonumber(limit) then return end
  if redis.call('LPOS', ring, group) then return end
  redis.call('RPUSH', ring, group)
  redis.call('LPUSH', wake, '1')
  redis.call('LTRIM', wake, 0, 63)
end
"""

ENQUEUE = (
    RERING
    + """
local row, lane, ring, paused, glimit, gactive, wake = unpack(KEYS)
local id, payload, group = unpack(ARGV)
if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', row) == 1 then return 0 end
redis.call('HSET', row, 'state', 'pending', 'attempts', '0', 'payload', payload, 'group', group)
redis.call('ZADD', lane, 0, id)
rering(ring, paused, glimit, wake, group, tonumber(redis.call('HGET', gactive, group) or '0'))
return 1
"""
)

CLAIM = """
local ring, active, base = unpack(KEYS)
local lease = tonumber(ARGV[1])
local group = redis.call('LMOVE', ring, ring, 'LEFT', 'RIGHT')
if not group then return {} end
local lane = base .. 'g:' .. group .. ':pending'
local popped = redis.call('ZPOPMIN', lane)
if #popped == 0 then
  redis.call('LREM', ring, 0, group)
  return {}
end
local id = popped[1]
local row = base .. 'job:' .. id
local att = redis.call('HINCRBY', row, 'attempts', 1)
redis.call('HSET', row, 'state', 'active')
local t = redis.call('TIME')
redis.call('ZADD', active, t[1] * 1000 + math.floor(t[2] / 1000) + lease, id)
local running = redis.call('HINCRBY', base .. 'gactive', group, 1)
local limit = redis.call('HGET', base .. 'glimit', group)
if (limit and running >= tonumber(limit)) or redis.call('ZCARD', lane) == 0 then
  redis.call('LREM', ring, 0, group)
end
return {id, redis.call('HGET', row, 'payload'), att, group}
"""

LIMIT = """
local glimit, gactive, ring, paused, wake, base = unpack(KEYS)
local group, limit = ARGV[1], tonumber(ARGV[2])
redis.call('HSET', glimit, group, limit)
if tonumber(redis.call('HGET', gactive, group) or '0') >= limit then
  redis.call('LREM', ring, 0, group)
elseif redis.call('SISMEMBER', paused, group) == 0
  and redis.call('ZCARD', base .. 'g:' .. group .. ':pending') > 0
  and not redis.call('LPOS', ring, group) then
  redis.call('RPUSH', ring, group)
  redis.call('LPUSH', wake, '1')
  redis.call('LTRIM', wake, 0, 63)
end
return 1
"""

PAUSE = """
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('LREM', KEYS[2], 0, ARGV[1])
return 1
"""

RESUME = (
    RERING
    + """
local paused, ring, glimit, gactive, wake, base = unpack(KEYS)
local group = ARGV[1]
redis.call('SREM', paused, group)
if redis.call('ZCARD', base .. 'g:' .. group .. ':pending') > 0 then
  rering(ring, paused, glimit, wake, group, tonumber(redis.call('HGET', gactive, group) or '0'))
end
return 1
"""
)


class LaneClaim(NamedTuple):
    """What a foreign claimer of lanes holds."""

    job_id: str
    payload: bytes
    token: int
    group: str


class LaneKeys:
    """The keys of the lanes of one queue."""

    def __init__(self, queue: str) -> None:
        self.keys = QueueKeys(queue)
        base = self.keys.base
        self.ring, self.paused, self.groups = base + "ring", base + "paused", base + "groups"
        self.gactive, self.glimit, self.wake = base + "gactive", base + "glimit", self.keys.wake


def lane_enqueue(client: Speaker, queue: str, group: str, job_id: str, payload: bytes | str) -> int:
    """1 enqueued into the lane of ``group``, 0 duplicate."""
    lanes = LaneKeys(queue)
    row, lane = lanes.keys.row(job_id), lanes.keys.lane(group)
    books = (lanes.ring, lanes.paused, lanes.glimit, lanes.gactive, lanes.wake)
    return int(say(client, ENQUEUE, (row, lane, *books), (job_id, payload, group)))


def lane_claim(client: Speaker, queue: str, lease_ms: int = 60_000) -> LaneClaim | None:
    """One job of the lane that is first in the ring."""
    lanes = LaneKeys(queue)
    keys = (lanes.ring, lanes.keys.active, lanes.keys.base)
    reply = say(client, CLAIM, keys, (lease_ms,))
    return LaneClaim(reply[0].decode(), reply[1], reply[2], reply[3].decode()) if reply else None


def lane_limit(client: Speaker, queue: str, group: str, most: int) -> None:
    """At most ``most`` jobs of the lane run at a time."""
    lanes = LaneKeys(queue)
    books = (lanes.glimit, lanes.gactive, lanes.ring, lanes.paused, lanes.wake, lanes.keys.base)
    say(client, LIMIT, books, (group, most))


def lane_pause(client: Speaker, queue: str, group: str) -> None:
    """Park the lane with what waits in it."""
    lanes = LaneKeys(queue)
    say(client, PAUSE, (lanes.paused, lanes.ring), (group,))


def lane_resume(client: Speaker, queue: str, group: str) -> None:
    """Put the lane back in rotation when work waits in it."""
    lanes = LaneKeys(queue)
    books = (lanes.paused, lanes.ring, lanes.glimit, lanes.gactive, lanes.wake, lanes.keys.base)
    say(client, RESUME, books, (group,))
