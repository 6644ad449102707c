-- promote: move what is due from schedule to its waiting set.
--
-- FLAGS    allow-oom
-- USES     clock whole wake lane waiting flow bury come_back
-- KEYS[1]  schedule  zset    emq:{q}:schedule
-- KEYS[2]  pending   zset    emq:{q}:pending
-- KEYS[3]  base      prefix  emq:{q}:
-- KEYS[4]? wake      list    emq:{q}:wake, when workers shall be told
-- ARGV[1]  batch     int     at most so many
--
-- REPLY  n           how many were moved
-- ERROR  ERR         the batch is not a whole number above zero
local schedule, pending, base, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local batch = whole(ARGV[1], 1)
if not batch then return redis.error_reply('ERR promote takes a whole batch above zero') end
local moved, flat = come_back(schedule, pending, base, batch, server_ms(), false)
push_wake(wake, flat)
return moved
