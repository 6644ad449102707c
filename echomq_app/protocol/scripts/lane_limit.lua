-- lane_limit: say how many jobs of a lane may run at a time. Safe to repeat.
--
-- FLAGS    allow-oom
-- USES     whole wake lane
-- KEYS[1]  glimit    hash    emq:{q}:glimit
-- KEYS[2]  ring      list    emq:{q}:ring
-- KEYS[3]  base      prefix  emq:{q}:
-- ARGV[1]  group     text    the lane
-- ARGV[2]  limit     int     the ceiling; 0 lifts it
--
-- REPLY  1           set; what runs already goes on, over the ceiling or not
-- ERROR  ERR         the limit is not a whole number
local glimit, ring, base = KEYS[1], KEYS[2], KEYS[3]
local group, limit = ARGV[1], whole(ARGV[2], 0)
if not limit then return redis.error_reply('ERR lane_limit takes a whole number of jobs') end
local lane = read_lane(base, group)
if limit == 0 then
  redis.call('HDEL', glimit, group)
else
  redis.call('HSET', glimit, group, limit)
end
lane.limit = limit > 0 and limit or nil
if can_be_served(lane) then
  ring_lane(lane)
else
  redis.call('LREM', ring, 0, group)
end
return 1
