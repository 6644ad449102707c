-- claim: lease the oldest waiting job, as the seed does it, in the seed's order.
--
-- FLAGS    allow-oom
-- USES     clock
-- KEYS[1]  pending   zset    emq:{q}:pending
-- KEYS[2]  active    zset    emq:{q}:active
-- KEYS[3]  base      prefix  emq:{q}:
-- ARGV[1]  lease_ms  int     how long the lease lasts, ms; the host checks it
-- ARGV[2]? label     text    unique to this call; then worker and claimed_at are written too
--
-- REPLY  []                       nothing pending, or a ghost was consumed
-- REPLY  [id, payload, token]     the job, and the fencing token of this claim
local pending, active, base = KEYS[1], KEYS[2], KEYS[3]
local lease_ms, label = ARGV[1], ARGV[2]
local popped = redis.call('ZPOPMIN', pending)
if #popped == 0 then return {} end
local id = popped[1]
local row = base .. 'job:' .. id
if redis.call('EXISTS', row) == 0 then return {} end
local token = redis.call('HINCRBY', row, 'attempts', 1)
redis.call('HSET', row, 'state', 'active')
local now = server_ms()
redis.call('ZADD', active, now + tonumber(lease_ms), id)
if label then redis.call('HSET', row, 'worker', token .. ' ' .. label, 'claimed_at', now) end
return { id, redis.call('HGET', row, 'payload'), token }
