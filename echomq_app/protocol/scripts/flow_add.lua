-- flow_add: admit a job that waits for others, with those of them that share its queue: all or none.
--
-- USES       whole wake bury
-- KEYS[1]    pending   zset    emq:{q}:pending
-- KEYS[2]    wake      list    emq:{q}:wake
-- KEYS[3]    base      prefix  emq:{q}:
-- KEYS[4..]  rows      hash    emq:{q}:job:<id>, in the order of the arguments
-- ARGV[1..]  jobs      sixes   id, payload, parent or '', its queue when it is another, fp or id, how many it waits for
--
-- REPLY  1           admitted: those that wait for none can be claimed, the others are held
-- REPLY  0           duplicate: the first one's row or receipt is there, nothing was written
-- REPLY  n           below zero: the id of the job in that place is taken, nothing was written
-- ERROR  EMQKIND     an id is not JOB-namespaced
-- ERROR  ERR         how many a job waits for is not a whole number, or its policy is none
local pending, wake, base, rows, jobs = KEYS[1], KEYS[2], KEYS[3], KEYS, ARGV
local count, free = #jobs / 6, 0
for i = 1, count do
  if string.sub(jobs[i * 6 - 5], 1, 3) ~= 'JOB' then
    return redis.error_reply('EMQKIND job id must be JOB-namespaced')
  end
  if not whole(jobs[i * 6], 0) or (jobs[i * 6 - 1] ~= 'fp' and jobs[i * 6 - 1] ~= 'id') then
    return redis.error_reply('ERR flow_add takes fp or id, and whole numbers of children')
  end
end
check_sets(pending)
for i = 1, count do
  if redis.call('EXISTS', rows[i + 3], base .. 'result:' .. jobs[i * 6 - 5]) > 0 then
    if i == 1 then return 0 end
    return -i
  end
end
for i = 1, count do
  local row, id, parent, children = rows[i + 3], jobs[i * 6 - 5], jobs[i * 6 - 3], tonumber(jobs[i * 6])
  redis.call('HSET', row, 'state', children > 0 and 'awaiting_children' or 'pending', 'attempts', '0',
    'payload', jobs[i * 6 - 4])
  if parent ~= '' then redis.call('HSET', row, 'parent', parent, 'parent_policy', jobs[i * 6 - 1]) end
  if jobs[i * 6 - 2] ~= '' then redis.call('HSET', row, 'parent_queue', jobs[i * 6 - 2]) end
  redis.call('DEL', row .. ':dependencies', row .. ':processed', row .. ':failed', row .. ':unsuccessful')
  if children > 0 then
    redis.call('SET', row .. ':dependencies', string.format('%.0f', children))
  else
    redis.call('ZADD', pending, 0, id)
    free = free + 1
  end
end
push_wake(wake, free)
return 1
