-- lane_weight: say how many jobs a turn of a lane gives. Safe to repeat.
--
-- FLAGS    allow-oom
-- USES     whole
-- KEYS[1]  gweight   hash    emq:{q}:gweight
-- ARGV[1]  group     text    the lane
-- ARGV[2]  weight    int     the share; 0 takes it back, and the lane weighs 1
--
-- REPLY  1           set
-- ERROR  ERR         the weight is not a whole number
local gweight, group, weight = KEYS[1], ARGV[1], whole(ARGV[2], 0)
if not weight then return redis.error_reply('ERR lane_weight takes a whole number') end
if weight == 0 then
  redis.call('HDEL', gweight, group)
else
  redis.call('HSET', gweight, group, weight)
end
return 1
