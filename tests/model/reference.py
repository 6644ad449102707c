"""The reference's settles as protocol 4.6, 4.7 and 4.15 describe them: by the token alone."""

from __future__ import annotations

from typing import Any, Final

import redis

from echomq_app.protocol.keyspace import QueueKeys

LEAVE: Final = """
local function leave(base, active, row, id)
  local group = redis.call('HGET', row, 'group')
  local was_active = redis.call('ZREM', active, id) == 1
  if not group then
    if not was_active then redis.call('ZREM', base .. 'pending', id) end
    return
  end
  local lane = base .. 'g:' .. group .. ':pending'
  if was_active then
    if redis.call('HINCRBY', base .. 'gactive', group, -1) <= 0 then
      redis.call('HDEL', base .. 'gactive', group)
    end
    local running = tonumber(redis.call('HGET', base .. 'gactive', group) or '0')
    local limit = redis.call('HGET', base .. 'glimit', group)
    if redis.call('ZCARD', lane) > 0 and not redis.call('LPOS', base .. 'ring', group)
      and redis.call('SISMEMBER', base .. 'paused', group) == 0
      and not (limit and running >= tonumber(limit)) then
      redis.call('RPUSH', base .. 'ring', group)
      redis.call('LPUSH', base .. 'wake', '1')
      redis.call('LTRIM', base .. 'wake', 0, 63)
    end
  else
    redis.call('ZREM', lane, id)
    if redis.call('ZCARD', lane) == 0 then redis.call('LREM', base .. 'ring', 0, group) end
  end
end
"""

COMPLETE: Final = (
    LEAVE
    + """
local active, row, base, id, token = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
local attempts = redis.call('HGET', row, 'attempts')
if not attempts then return 0 end
if attempts ~= token then return redis.error_reply('EMQSTALE token') end
leave(base, active, row, id)
redis.call('DEL', row)
redis.call('HINCRBY', base .. 'metrics:completed', 'count', 1)
return 1
"""
)

RETRY: Final = (
    LEAVE
    + """
local active, schedule, dead, row, base = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, token, delay_ms, most, reason = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local attempts = redis.call('HGET', row, 'attempts')
if not attempts then return redis.error_reply('EMQSTALE job gone') end
if attempts ~= token then return redis.error_reply('EMQSTALE token') end
leave(base, active, row, id)
redis.call('HSET', row, 'last_error', reason)
if tonumber(attempts) >= most then
  redis.call('HSET', row, 'state', 'dead')
  redis.call('ZADD', dead, 0, id)
  redis.call('HINCRBY', base .. 'metrics:failed', 'count', 1)
  return 'dead'
end
local t = redis.call('TIME')
redis.call('HSET', row, 'state', 'scheduled')
redis.call('ZADD', schedule, t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(delay_ms), id)
return 'scheduled'
"""
)

DRAIN: Final = """
local ids = redis.call('ZRANGE', KEYS[2], 0, -1)
for _, id in ipairs(ids) do
  redis.call('DEL', KEYS[1] .. 'job:' .. id, KEYS[1] .. 'job:' .. id .. ':logs')
end
redis.call('DEL', KEYS[2])
return #ids
"""


def foreign_complete(client: redis.Redis, keys: QueueKeys, job_id: str, token: int) -> Any:
    return client.eval(COMPLETE, 3, keys.active, keys.row(job_id), keys.base, job_id, str(token))


def foreign_retry(
    client: redis.Redis, keys: QueueKeys, job_id: str, token: int, delay_ms: int, most: int
) -> Any:
    names = (keys.active, keys.schedule, keys.dead, keys.row(job_id), keys.base)
    words = (job_id, str(token), str(delay_ms), str(most), "foreign")
    return client.eval(RETRY, len(names), *names, *words)


def foreign_drain(client: redis.Redis, keys: QueueKeys) -> Any:
    return client.eval(DRAIN, 2, keys.base, keys.pending)
