-- lane_drain: end the oldest jobs that wait in a lane. What runs, its ceiling and its weight stay.
--
-- FLAGS    allow-oom
-- USES     clock whole wake lane retained mark flow dedup row wipe drain
-- KEYS[1]  base        prefix  emq:{q}:
-- ARGV[1]  group       text    the lane
-- ARGV[2]  limit       int     at most so many
-- ARGV[3]? label       text    unique to this call, for the receipts
-- ARGV[4]? receipt_ms  int     leave receipts for so long; 0 or absent: nothing remains
--
-- REPLY  n           how many left the lane, ghosts among them; fewer than the limit: nothing waits in it any more
-- ERROR  ERR         the limit or the receipts' time is not a whole number
local base, group, limit = KEYS[1], ARGV[1], whole(ARGV[2], 1)
local label, receipt_ms = ARGV[3] or '', whole(ARGV[4] or '0', 0)
if not limit or not receipt_ms then
  return redis.error_reply('ERR lane_drain takes a whole limit above zero, and a receipt of whole milliseconds')
end
local lane, now = read_lane(base, group), server_ms()
local ids = redis.call('ZRANGE', lane.key, 0, limit - 1)
for _, id in ipairs(ids) do
  end_waiting(base, id, 'drained', label, receipt_ms, now)
  lane_job_left(lane, id)
end
return #ids
