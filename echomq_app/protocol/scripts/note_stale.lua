-- note_stale: note an outcome that was refused, because another claim has the job, and who that is.
--
-- FLAGS    none
-- USES     clock whole
-- KEYS[1]  row       hash    emq:{q}:job:<id>
-- KEYS[2]  result    string  emq:{q}:result:<id>
-- KEYS[3]  stale     list    emq:{q}:stale
-- KEYS[4]  counter   hash    emq:{q}:metrics:stale
-- ARGV[1]  id        text    the job's id
-- ARGV[2]  token     int     the token of the claim whose outcome was refused
-- ARGV[3]  label     text    its label
-- ARGV[4]  reason    text    why it was refused
-- ARGV[5]  ran_ms    int     for how long it ran
-- ARGV[6]  ended_ms  int     how long ago that ended
-- ARGV[7]  keep      int     how many notes to keep
-- ARGV[8]  keep_ms   int     for how long after the last one
--
-- REPLY  [token, label, overlap_ms]  the other claim, as far as the row or the receipt tells, '' for what they do not;
--                    overlap_ms: for how long both ran at most, '' when nothing tells
-- ERROR  ERR         a number is not whole, or not above zero where it counts
local row, result, stale, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, token, label, reason = ARGV[1], whole(ARGV[2], 1), ARGV[3], ARGV[4]
local ran_ms, ended_ms, keep, keep_ms = whole(ARGV[5], 0), whole(ARGV[6], 0), whole(ARGV[7], 1), whole(ARGV[8], 1)
if not (token and ran_ms and ended_ms and keep and keep_ms) then
  return redis.error_reply('ERR note_stale takes a token, spans and bounds as whole numbers')
end
local fields = redis.call('HMGET', row, 'worker', 'claimed_at')
local kept = redis.call('GET', result)
redis.call('LLEN', stale)
local now = server_ms()
local other, holder = string.match(fields[1] or '', '^(%d+) ([^\n]*)')
if not other then other, holder = string.match(kept or '', '^%S+ (%d+) %d+ ([^\n]*)') end
local overlap = ''
if other and other ~= ARGV[2] then
  local since = whole(fields[2] or '', 0)
  if since then overlap = string.format('%.0f', math.min(ran_ms, math.max(0, now - ended_ms - since))) end
else
  other, holder = '', ''
end
redis.call('HINCRBY', counter, 'count', 1)
redis.call('LPUSH', stale, cjson.encode({ at = now, job = id, token = token, label = label, reason = reason,
  ran_ms = ran_ms, other_token = tonumber(other), other_label = holder, overlap_ms = tonumber(overlap) }))
redis.call('LTRIM', stale, 0, keep - 1)
redis.call('PEXPIRE', stale, keep_ms)
return { other, holder, overlap }
