-- delay: park a claimed job until an instant; the claim does not count as an attempt.
--
-- FLAGS    allow-oom
-- USES     clock whole wake lane holder
-- KEYS[1]  row       hash    emq:{q}:job:<id>
-- KEYS[2]  active    zset    emq:{q}:active
-- KEYS[3]  schedule  zset    emq:{q}:schedule
-- KEYS[4]  base      prefix  emq:{q}:
-- ARGV[1]  id        text    the job's id
-- ARGV[2]  token     int     the fencing token that the claim handed out
-- ARGV[3]  mode      word    at: an instant; in: a delay on the server's clock
-- ARGV[4]  value     int     ms since 1970, or ms from now
-- ARGV[5]? label     text    the claim's label, '' for none
--
-- REPLY  1           parked
-- ERROR  EMQKIND     the id is not JOB-namespaced
-- ERROR  EMQSTALE    the caller does not hold the job
-- ERROR  ERR         the mode or the value is not one
local row, active, schedule, base = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, token, mode, value, label = ARGV[1], ARGV[2], ARGV[3], whole(ARGV[4], 0), ARGV[5] or ''
if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if not value or (mode ~= 'at' and mode ~= 'in') then
  return redis.error_reply('ERR delay takes at or in, and whole milliseconds')
end
local job, why = read_holder(row, token, label, 'delay')
if not job then return refuse(why) end
if not redis.call('ZSCORE', active, id) then return refuse('place') end
local lane = job.group and read_lane(base, job.group)
if mode == 'in' then value = server_ms() + value end
redis.call('ZADD', schedule, value, id)
redis.call('ZREM', active, id)
if lane then
  lane_job_stopped(lane)
  ring_lane(lane)
end
redis.call('HSET', row, 'state', 'scheduled', 'excused', job.excused + 1,
  'settled', token .. ' delay ' .. label)
return 1
