-- dedup: park a deduplication key for a job; the first to park it keeps it.
--
-- FLAGS    none
-- USES     whole
-- KEYS[1]  key       string  emq:{q}:de:<did>
-- KEYS[2]  base      prefix  emq:{q}:
-- ARGV[1]  did       text    the name of the deduplication key
-- ARGV[2]  id        text    the job that it shall stand for
-- ARGV[3]  keep_ms   int     how long it stands, ms
--
-- REPLY  [id]        the job that it stands for: this one, or the one that somebody parked before
-- ERROR  ERR         the time is not a whole number above zero
local key, base = KEYS[1], KEYS[2]
local did, id, keep_ms = ARGV[1], ARGV[2], whole(ARGV[3], 1)
if not keep_ms then return redis.error_reply('ERR dedup takes whole milliseconds above zero') end
local holder = redis.call('GET', key)
if holder then return { holder } end
redis.call('SET', key, id, 'PX', keep_ms)
redis.pcall('HSET', base .. 'dids', id, did)
-- A key that expired leaves its entry: ten drawn at random are looked at, so that the dead stay few among the living.
local drawn = redis.pcall('HRANDFIELD', base .. 'dids', 10, 'WITHVALUES')
for i = 1, drawn.err and 0 or #drawn, 2 do
  if redis.pcall('GET', base .. 'de:' .. drawn[i + 1]) ~= drawn[i] then redis.call('HDEL', base .. 'dids', drawn[i]) end
end
return { id }
