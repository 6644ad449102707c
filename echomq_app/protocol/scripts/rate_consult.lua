-- rate_consult: lease the oldest waiting jobs as far as the ceiling of running jobs lets it.
--
-- FLAGS    allow-oom
-- USES     clock whole wake flow bury ceiling claim
-- KEYS[1]  pending   zset    emq:{q}:pending
-- KEYS[2]  active    zset    emq:{q}:active
-- KEYS[3]  dead      zset    emq:{q}:dead
-- KEYS[4]  base      prefix  emq:{q}:
-- KEYS[5]? wake      list    emq:{q}:wake, emptied when nothing is left to claim
-- ARGV[1]  lease_ms  int     how long the leases last, ms
-- ARGV[2]  size      int     at most so many, 1 to 1000
-- ARGV[3]? label     text    unique to this call
--
-- REPLY  [[id, payload, token, excused, lapses]]  oldest first; empty when paused or nothing waits
-- ERROR  EMQRATE     as many jobs run as may
-- ERROR  ERR         the lease or the size is not a whole number in range
local pending, active, dead, base, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local lease_ms, size, label = whole(ARGV[1], 1), whole(ARGV[2], 1), ARGV[3] or ''
if not lease_ms or not size or size > 1000 then
  return redis.error_reply('ERR rate_consult takes a lease in whole milliseconds and a size of 1 to 1000')
end
local most = math.min(size, headroom(base .. 'meta', active))
if most < 1 then return redis.error_reply('EMQRATE as many jobs run as the queue may run') end
return claim_jobs(pending, active, dead, base, wake, lease_ms, most, label, server_ms())
