-- slots_due: tell which slots of our schedules are due, and when the one after them will be.
--
-- FLAGS    no-writes
-- USES     clock whole
-- KEYS[1]  slots    zset    emq:{q}:slots
-- KEYS[2]  base     prefix  emq:{q}:
-- ARGV[1]  limit    int     at most so many
--
-- REPLY  [now, next_ms, slots]  server ms; how long until a slot beyond these is due, -1 when there is none; name, due
--                               time, revision, template each, the longest due first. One whose record cannot be read
--                               has no revision
-- ERROR  ERR         the limit is not a whole number above zero
local slots, base, limit = KEYS[1], KEYS[2], whole(ARGV[1], 1)
if not limit then return redis.error_reply('ERR slots_due takes a whole limit above zero') end
local now, found = server_ms(), {}
local due = redis.call('ZRANGEBYSCORE', slots, '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
for i = 1, #due, 2 do
  local fields = redis.pcall('HMGET', base .. 'slot:' .. due[i], 'revision', 'template')
  found[#found + 1] = { due[i], due[i + 1], fields[1] or '', fields[2] or '' }
end
local after = redis.call('ZRANGE', slots, #found, #found, 'WITHSCORES')
return { now, after[2] and math.max(0, tonumber(after[2]) - now) or -1, found }
