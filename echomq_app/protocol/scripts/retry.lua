-- retry: a held job failed: park it for another attempt, or bury it when it has had them all.
--
-- FLAGS    allow-oom
-- USES     clock whole wake lane holder place retained flow
-- KEYS[1]  active        zset    emq:{q}:active
-- KEYS[2]  schedule      zset    emq:{q}:schedule
-- KEYS[3]  dead          zset    emq:{q}:dead
-- KEYS[4]  row           hash    emq:{q}:job:<id>
-- KEYS[5]  base          prefix  emq:{q}:
-- ARGV[1]  id            text    the job's id
-- ARGV[2]  token         int     the fencing token that the claim handed out
-- ARGV[3]  delay_ms      int     until the next attempt
-- ARGV[4]  max_attempts  int     how many attempts count; 0 buries at once
-- ARGV[5]  error         text    kept as last_error
-- ARGV[6]? label         text    the claim's label, '' for none
-- ARGV[7]? report        bytes   kept in the newest ten of emq:{q}:job:<id>:errors
-- ARGV[8]? keep_ms       int     how long those reports outlive their last write
--
-- REPLY  scheduled   parked until the delay is over
-- REPLY  dead        buried, the error kept
-- ERROR  EMQSTALE    the caller does not hold the job
-- ERROR  ERR         a time or the attempts are not whole numbers
local active, schedule, dead, row, base = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, token, delay_ms, max_attempts = ARGV[1], ARGV[2], whole(ARGV[3], 0), whole(ARGV[4], 0)
local reason, label, report, keep_ms = ARGV[5], ARGV[6] or '', ARGV[7], whole(ARGV[8] or '', 1)
if not delay_ms or not max_attempts or (report and not keep_ms) then
  return redis.error_reply('ERR retry takes whole milliseconds for delay and reports, and a whole number of attempts')
end
local job, why = read_holder(row, token, label, 'retry')
if not job then return refuse(why) end
local lane = job.group and read_lane(base, job.group)
local place = find_held(base, active, id, lane)
if not place then return refuse('place') end
check_telling(base, job)
local buried = job.attempts - job.excused >= max_attempts
if buried then
  redis.call('ZADD', dead, 0, id)
else
  redis.call('ZADD', schedule, server_ms() + delay_ms, id)
end
leave_place(active, id, lane, place)
redis.call('HSET', row, 'state', buried and 'dead' or 'scheduled', 'last_error', reason,
  'settled', token .. ' retry ' .. label)
if report then
  local errors = row .. ':errors'
  redis.pcall('LPUSH', errors, report)
  redis.pcall('LTRIM', errors, 0, 9)
  redis.pcall('PEXPIRE', errors, keep_ms)
end
if not buried then return 'scheduled' end
redis.pcall('HINCRBY', base .. 'metrics:failed', 'count', 1)
drop_retained(base, id)
tell_parents(base, id, job, reason)
return 'dead'
