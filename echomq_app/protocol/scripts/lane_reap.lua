-- lane_reap: give back the jobs of one lane whose leases lapsed; those of others stay.
--
-- FLAGS    allow-oom
-- USES     clock whole wake lane waiting flow bury come_back
-- KEYS[1]  active    zset    emq:{q}:active
-- KEYS[2]  pending   zset    emq:{q}:pending
-- KEYS[3]  base      prefix  emq:{q}:
-- ARGV[1]  group     text    the lane
-- ARGV[2]  limit     int     look at so many lapsed jobs of whichever lane
-- ARGV[3]  offset    int     pass over the first so many
--
-- REPLY  [moved, seen]  how many came back, and how many lapsed jobs were looked at
-- ERROR  ERR         the limit or the offset is not a whole number in range
local active, pending, base = KEYS[1], KEYS[2], KEYS[3]
local group, limit, offset = ARGV[1], whole(ARGV[2], 1), whole(ARGV[3], 0)
if not limit or not offset then
  return redis.error_reply('ERR lane_reap takes a whole limit above zero and a whole offset')
end
local lapsed = redis.call('ZRANGEBYSCORE', active, '-inf', server_ms(), 'LIMIT', offset, limit)
read_lane(base, group)
check_sets(pending, base .. 'dead')
local moved = 0
for _, id in ipairs(lapsed) do
  if redis.pcall('HGET', base .. 'job:' .. id, 'group') == group then
    moved = moved + give_back(active, pending, base, id, true)
  end
end
return { moved, #lapsed }
