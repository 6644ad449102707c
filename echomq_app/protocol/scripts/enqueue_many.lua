-- enqueue_many: admit many jobs of one queue, each judged for itself.
--
-- USES       wake
-- KEYS[1]    pending   zset    emq:{q}:pending
-- KEYS[2]    wake      list    emq:{q}:wake
-- KEYS[3]    base      prefix  emq:{q}:
-- KEYS[4..]  rows      hash    emq:{q}:job:<id>, in the order of the arguments
-- ARGV[1..]  jobs      pairs   id, payload
--
-- REPLY  [1, 0, -1]  an item each: admitted, duplicate, not JOB-namespaced (nothing written)
local pending, wake, base, rows, jobs = KEYS[1], KEYS[2], KEYS[3], KEYS, ARGV
local verdicts, admitted = {}, 0
for i = 1, #jobs / 2 do
  local id, row = jobs[i * 2 - 1], rows[i + 3]
  if string.sub(id, 1, 3) ~= 'JOB' then
    verdicts[i] = -1
  elseif redis.call('EXISTS', row, base .. 'result:' .. id) > 0 then
    verdicts[i] = 0
  else
    redis.call('ZADD', pending, 0, id)
    redis.call('HSET', row, 'state', 'pending', 'attempts', '0', 'payload', jobs[i * 2])
    admitted = admitted + 1
    verdicts[i] = 1
  end
end
push_wake(wake, admitted)
return verdicts
