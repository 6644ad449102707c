-- enqueue: admit a job to pending, once.
--
-- USES     wake
-- KEYS[1]  row       hash    emq:{q}:job:<id>
-- KEYS[2]  pending   zset    emq:{q}:pending
-- KEYS[3]? wake      list    emq:{q}:wake, when workers shall be told
-- KEYS[4]? result    string  emq:{q}:result:<id>, when an ended job shall not be admitted again
-- ARGV[1]  id        text    the job's id
-- ARGV[2]  payload   bytes   opaque
--
-- REPLY  1           admitted
-- REPLY  0           duplicate: the row or the receipt is there, nothing was written
-- ERROR  EMQKIND     the id is not JOB-namespaced
local row, pending, wake, result = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, payload = ARGV[1], ARGV[2]
if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', row) == 1 then return 0 end
if result and redis.call('EXISTS', result) == 1 then return 0 end
redis.call('ZADD', pending, 0, id)
redis.call('HSET', row, 'state', 'pending', 'attempts', '0', 'payload', payload)
push_wake(wake, 1)
return 1
