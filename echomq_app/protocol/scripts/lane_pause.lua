-- lane_pause: take a lane out of rotation; what waits in it stays. Safe to repeat.
--
-- FLAGS    allow-oom
-- KEYS[1]  paused    set     emq:{q}:paused
-- KEYS[2]  ring      list    emq:{q}:ring
-- ARGV[1]  group     text    the lane
--
-- REPLY  1           parked now
-- REPLY  0           it was parked already
local paused, ring, group = KEYS[1], KEYS[2], ARGV[1]
redis.call('LLEN', ring)
local parked = redis.call('SADD', paused, group)
redis.call('LREM', ring, 0, group)
return parked
