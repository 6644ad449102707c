-- add_log: append a line to a job's log.
--
-- FLAGS    none
-- USES     whole
-- KEYS[1]  row       hash    emq:{q}:job:<id>
-- KEYS[2]  logs      list    emq:{q}:job:<id>:logs
-- ARGV[1]  line      text    the line
-- ARGV[2]? keep      int     how many lines to keep; '' or absent: all
-- ARGV[3]? keep_ms   int     how long the log outlives its last line; '' or absent: for ever
--
-- REPLY  n           how many lines are kept
-- REPLY  -1          gone: there is no such job
-- ERROR  ERR         how many lines or how long is not a whole number above zero
local row, logs, line, keep, keep_ms = KEYS[1], KEYS[2], ARGV[1], ARGV[2] or '', ARGV[3] or ''
if (keep ~= '' and not whole(keep, 1)) or (keep_ms ~= '' and not whole(keep_ms, 1)) then
  return redis.error_reply('ERR add_log takes whole numbers above zero: lines to keep, and milliseconds')
end
if redis.call('EXISTS', row) == 0 then return -1 end
local count = redis.call('RPUSH', logs, line)
if keep ~= '' then
  redis.call('LTRIM', logs, -keep, -1)
  count = math.min(count, keep)
end
if keep_ms ~= '' then redis.call('PEXPIRE', logs, keep_ms) end
return count
