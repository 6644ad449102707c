-- drain: end jobs that wait, flat or in lanes, at most so many; what runs goes on.
--
-- FLAGS    allow-oom
-- USES     clock whole wake lane bury retained mark flow dedup row wipe known_lanes drain
-- KEYS[1]  pending     zset    emq:{q}:pending
-- KEYS[2]  schedule    zset    emq:{q}:schedule
-- KEYS[3]  base        prefix  emq:{q}:
-- ARGV[1]  limit       int     at most so many
-- ARGV[2]? scheduled   flag    1: what is parked until an instant too
-- ARGV[3]? label       text    unique to this call, for the receipts
-- ARGV[4]? receipt_ms  int     leave receipts for so long; 0 or absent: nothing remains
--
-- REPLY  n           how many left their sets, ghosts among them; fewer than the limit: nothing waits any more
-- ERROR  ERR         the limit or the receipts' time is not a whole number
local pending, schedule, base = KEYS[1], KEYS[2], KEYS[3]
local limit, scheduled, label, receipt_ms = whole(ARGV[1], 1), ARGV[2] == '1', ARGV[3] or '', whole(ARGV[4] or '0', 0)
if not limit or not receipt_ms then
  return redis.error_reply('ERR drain takes a whole limit above zero, and a receipt of whole milliseconds')
end
check_sets(pending, schedule, base .. 'high', base .. 'low')
local groups, now, ended = known_lanes(base), server_ms(), 0
local function drain_set(set, lane)
  if ended >= limit then return end
  for _, id in ipairs(redis.call('ZRANGE', set, 0, limit - ended - 1)) do
    end_waiting(base, id, 'drained', label, receipt_ms, now)
    if lane then lane_job_left(lane, id) else redis.call('ZREM', set, id) end
    ended = ended + 1
  end
end
for _, set in ipairs({ pending, base .. 'high', base .. 'low' }) do drain_set(set) end
if scheduled then drain_set(schedule) end
for _, group in ipairs(groups) do
  local readable, lane = lane_of(base, group)
  if readable then drain_set(lane.key, lane) end
end
return ended
