-- lane_resume: put a parked lane back in rotation. Safe to repeat.
--
-- FLAGS    allow-oom
-- USES     wake lane
-- KEYS[1]  paused    set     emq:{q}:paused
-- KEYS[2]  base      prefix  emq:{q}:
-- ARGV[1]  group     text    the lane
--
-- REPLY  1           resumed now
-- REPLY  0           it was not parked
local paused, base, group = KEYS[1], KEYS[2], ARGV[1]
local lane = read_lane(base, group)
local resumed = redis.call('SREM', paused, group)
lane.parked = false
ring_lane(lane)
return resumed
