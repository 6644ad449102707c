-- lane_claim_weighted: lease as many of the oldest jobs of the next lane as its weight says.
--
-- FLAGS    allow-oom
-- USES     clock whole wake flow bury claim lane turn
-- KEYS[1]  active    zset    emq:{q}:active
-- KEYS[2]  dead      zset    emq:{q}:dead
-- KEYS[3]  base      prefix  emq:{q}:
-- ARGV[1]  lease_ms  int     how long the leases last, ms
-- ARGV[2]  size      int     at most so many, whatever the weight; 1 to 1000
-- ARGV[3]? label     text    unique to this call
--
-- REPLY  [[id, payload, token, excused, lapses, group]]  of one lane, oldest first; empty when paused or no lane can
--                                                        be served
-- ERROR  ERR         the lease or the size is not a whole number in range
local active, dead, base = KEYS[1], KEYS[2], KEYS[3]
local lease_ms, size, label = whole(ARGV[1], 1), whole(ARGV[2], 1), ARGV[3] or ''
if not lease_ms or not size or size > 1000 then
  return redis.error_reply('ERR lane_claim_weighted takes a lease in whole milliseconds and a size of 1 to 1000')
end
local function weighed(lane)
  return math.min(size, whole(redis.call('HGET', base .. 'gweight', lane.group) or '', 1) or 1)
end
return take_turn(active, dead, base, lease_ms, label, server_ms(), weighed)
