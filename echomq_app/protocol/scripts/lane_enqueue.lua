-- lane_enqueue: admit a job to a lane, once.
--
-- USES     wake lane
-- KEYS[1]  row       hash    emq:{q}:job:<id>
-- KEYS[2]  base      prefix  emq:{q}:
-- KEYS[3]? result    string  emq:{q}:result:<id>, when an ended job shall not be admitted again
-- ARGV[1]  id        text    the job's id
-- ARGV[2]  payload   bytes   opaque
-- ARGV[3]  group     text    the lane
--
-- REPLY  1           admitted
-- REPLY  0           duplicate: the row or the receipt is there, in whichever lane; nothing was written
-- ERROR  EMQKIND     the id is not JOB-namespaced
local row, base, result = KEYS[1], KEYS[2], KEYS[3]
local id, payload, group = ARGV[1], ARGV[2], ARGV[3]
if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', row) == 1 then return 0 end
if result and redis.call('EXISTS', result) == 1 then return 0 end
local lane = read_lane(base, group)
redis.call('HSET', row, 'state', 'pending', 'attempts', '0', 'payload', payload, 'group', group)
lane_job_waits(lane, id)
ring_lane(lane)
return 1
