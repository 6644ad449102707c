-- extend: renew the lease of a job that the caller holds.
--
-- FLAGS    allow-oom
-- USES     clock whole holder
-- KEYS[1]  active    zset    emq:{q}:active
-- KEYS[2]  row       hash    emq:{q}:job:<id>
-- ARGV[1]  id        text    the job's id
-- ARGV[2]  token     int     the fencing token that the claim handed out
-- ARGV[3]  lease_ms  int     from now, ms
-- ARGV[4]? label     text    the claim's label, '' for none
--
-- REPLY  1           renewed
-- REPLY  -1          gone: there is no such job
-- ERROR  EMQSTALE    the caller does not hold the job
-- ERROR  ERR         the lease is not a whole number above zero
local active, row = KEYS[1], KEYS[2]
local id, token, lease_ms, label = ARGV[1], ARGV[2], whole(ARGV[3], 1), ARGV[4] or ''
if not lease_ms then return redis.error_reply('ERR extend takes a lease in whole milliseconds') end
local job, why = read_holder(row, token, label, 'extend')
if why == 'gone' then return -1 end
if not job then return refuse(why) end
if not redis.call('ZSCORE', active, id) then return refuse('place') end
redis.call('ZADD', active, 'XX', server_ms() + lease_ms, id)
return 1
