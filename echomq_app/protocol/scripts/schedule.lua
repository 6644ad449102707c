-- schedule: admit a job that may not run before an instant.
--
-- USES     clock whole
-- KEYS[1]  row       hash    emq:{q}:job:<id>
-- KEYS[2]  schedule  zset    emq:{q}:schedule
-- KEYS[3]? result    string  emq:{q}:result:<id>, when an ended job shall not be admitted again
-- ARGV[1]  id        text    the job's id
-- ARGV[2]  payload   bytes   opaque
-- ARGV[3]  mode      word    at: an instant; in: a delay on the server's clock
-- ARGV[4]  value     int     ms since 1970, or ms from now
-- ARGV[5]? group     text    the lane that the job joins when it is due; '' or absent: none
--
-- REPLY  1           scheduled
-- REPLY  0           duplicate: the row or the receipt is there, nothing was written
-- ERROR  EMQKIND     the id is not JOB-namespaced
-- ERROR  ERR         the mode or the value is not one
local row, schedule, result = KEYS[1], KEYS[2], KEYS[3]
local id, payload, mode, value, group = ARGV[1], ARGV[2], ARGV[3], whole(ARGV[4], 0), ARGV[5] or ''
if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if not value or (mode ~= 'at' and mode ~= 'in') then
  return redis.error_reply('ERR schedule takes at or in, and whole milliseconds')
end
if redis.call('EXISTS', row) == 1 then return 0 end
if result and redis.call('EXISTS', result) == 1 then return 0 end
if mode == 'in' then value = server_ms() + value end
redis.call('ZADD', schedule, value, id)
redis.call('HSET', row, 'state', 'scheduled', 'attempts', '0', 'payload', payload)
if group ~= '' then redis.call('HSET', row, 'group', group) end
return 1
