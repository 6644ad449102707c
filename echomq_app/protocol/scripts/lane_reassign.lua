-- lane_reassign: move a job that waits in one lane to another.
--
-- FLAGS    allow-oom
-- USES     wake lane
-- KEYS[1]  row       hash    emq:{q}:job:<id>
-- KEYS[2]  base      prefix  emq:{q}:
-- ARGV[1]  id        text    the job's id
-- ARGV[2]  group     text    the lane to move it to
--
-- REPLY  1           moved; it counts against the new lane from its next claim on
-- REPLY  0           it is in that lane already
-- REPLY  -1          not found: there is no such job, or it has no lane
-- REPLY  -2          not pending: it does not wait in its lane
local row, base, id, group = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local from = redis.call('HGET', row, 'group')
if not from then return -1 end
if from == group then return 0 end
local source, target = read_lane(base, from), read_lane(base, group)
if not redis.call('ZSCORE', source.key, id) then return -2 end
lane_job_left(source, id)
lane_job_waits(target, id)
redis.call('HSET', row, 'group', group)
ring_lane(target)
return 1
