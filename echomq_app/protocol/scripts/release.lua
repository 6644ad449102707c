-- release: give a claimed job back to its waiting set at once; the claim does not count as an attempt.
--
-- FLAGS    allow-oom
-- USES     wake lane waiting holder
-- KEYS[1]  active    zset    emq:{q}:active
-- KEYS[2]  pending   zset    emq:{q}:pending
-- KEYS[3]  row       hash    emq:{q}:job:<id>
-- KEYS[4]  base      prefix  emq:{q}:
-- KEYS[5]? wake      list    emq:{q}:wake, when workers shall be told
-- ARGV[1]  id        text    the job's id
-- ARGV[2]  token     int     the fencing token that the claim handed out
-- ARGV[3]? label     text    the claim's label, '' for none
--
-- REPLY  1           waiting again
-- ERROR  EMQSTALE    the caller does not hold the job
local active, pending, row, base, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, token, label = ARGV[1], ARGV[2], ARGV[3] or ''
local job, why = read_holder(row, token, label, 'release')
if not job then return refuse(why) end
if not redis.call('ZSCORE', active, id) then return refuse('place') end
local flat = put_waiting(pending, id, job.group and read_lane(base, job.group), true)
redis.call('ZREM', active, id)
redis.call('HSET', row, 'state', 'pending', 'excused', job.excused + 1,
  'settled', token .. ' release ' .. label)
push_wake(wake, flat)
return 1
