-- repeat_register: register a repeat as the reference keeps it, once.
--
-- FLAGS    none
-- USES     clock whole
-- KEYS[1]  repeat    zset    emq:{q}:repeat
-- KEYS[2]  record    hash    emq:{q}:repeat:<name>
-- ARGV[1]  name      text    the repeat's name
-- ARGV[2]  every_ms  int     how far its runs are apart, ms
-- ARGV[3]  template  bytes   the payload of each job
-- ARGV[4]  first_ms  int     the first run is due so many ms from now
--
-- REPLY  1           registered
-- REPLY  0           there is one of that name, nothing was written
-- ERROR  ERR         a time is not a whole number of milliseconds
local repeats, record = KEYS[1], KEYS[2]
local name, every_ms, template, first_ms = ARGV[1], whole(ARGV[2], 1), ARGV[3], whole(ARGV[4], 0)
if not every_ms or not first_ms then
  return redis.error_reply('ERR repeat_register takes whole milliseconds: an interval above zero, and a first delay')
end
if redis.call('EXISTS', record) == 1 then return 0 end
redis.call('ZADD', repeats, server_ms() + first_ms, name)
redis.call('HSET', record, 'every_ms', ARGV[2], 'template', template)
return 1
