-- reap: give back the jobs whose leases lapsed.
--
-- FLAGS    allow-oom
-- USES     clock whole wake lane waiting flow bury come_back
-- KEYS[1]  active    zset    emq:{q}:active
-- KEYS[2]  pending   zset    emq:{q}:pending
-- KEYS[3]  base      prefix  emq:{q}:
-- KEYS[4]? wake      list    emq:{q}:wake, when workers shall be told
-- ARGV[1]  limit     int     at most so many
--
-- REPLY  n           how many came back
-- ERROR  ERR         the limit is not a whole number above zero
local active, pending, base, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local limit = whole(ARGV[1], 1)
if not limit then return redis.error_reply('ERR reap takes a whole limit above zero') end
local moved, flat = come_back(active, pending, base, limit, server_ms(), true)
push_wake(wake, flat)
return moved
