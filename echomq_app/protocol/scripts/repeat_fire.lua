-- repeat_fire: admit a job for each repeat that is due and move the repeat on, at most as many as there are ids.
--
-- USES       clock whole wake
-- KEYS[1]    repeat   zset    emq:{q}:repeat
-- KEYS[2]    pending  zset    emq:{q}:pending
-- KEYS[3]    base     prefix  emq:{q}:
-- KEYS[4]?   wake     list    emq:{q}:wake, when workers shall be told
-- ARGV[1..]  ids      text    fresh ids, oldest first
--
-- REPLY  [[name, id]]  each repeat that was fired and its job. One whose record cannot be read leaves the registry; one
--                      whose id is known already waits for the next call
-- ERROR  EMQKIND     an id is not JOB-namespaced
local repeats, pending, base, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ids = ARGV
for _, id in ipairs(ids) do
  if string.sub(id, 1, 3) ~= 'JOB' then
    return redis.error_reply('EMQKIND job id must be JOB-namespaced')
  end
end
local now, fired = server_ms(), {}
redis.call('ZCARD', pending)
for i, name in ipairs(redis.call('ZRANGEBYSCORE', repeats, '-inf', now, 'LIMIT', 0, #ids)) do
  local id, row = ids[i], base .. 'job:' .. ids[i]
  local record = redis.pcall('HMGET', base .. 'repeat:' .. name, 'every_ms', 'template')
  local every_ms = not record.err and record[2] and whole(record[1] or '', 1)
  if not every_ms then
    redis.call('ZREM', repeats, name)
  elseif redis.call('EXISTS', row, base .. 'result:' .. id) == 0 then
    redis.call('ZADD', pending, 0, id)
    redis.call('HSET', row, 'state', 'pending', 'attempts', '0', 'payload', record[2])
    redis.call('ZADD', repeats, now + every_ms, name)
    fired[#fired + 1] = { name, id }
  end
end
push_wake(wake, #fired)
return fired
