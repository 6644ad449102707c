-- extend_many: renew the leases of the jobs that the caller holds, to one deadline.
--
-- FLAGS      allow-oom
-- USES       clock whole holder
-- KEYS[1]    active    zset    emq:{q}:active
-- KEYS[2]    base      prefix  emq:{q}:
-- ARGV[1]    lease_ms  int     from now, ms
-- ARGV[2..]  claims    triples id, token, label ('' for none)
--
-- REPLY  [id]        the jobs whose leases were not renewed: the caller holds them no more
-- ERROR  ERR         the lease is not a whole number above zero
local active, base, lease_ms, claims = KEYS[1], KEYS[2], whole(ARGV[1], 1), ARGV
if not lease_ms then return redis.error_reply('ERR extend_many takes a lease in whole milliseconds') end
local deadline, lost = server_ms() + lease_ms, {}
for i = 2, #claims, 3 do
  local id = claims[i]
  local row = base .. 'job:' .. id
  local readable = type(redis.pcall('HGET', row, 'attempts')) ~= 'table'
  if readable and read_holder(row, claims[i + 1], claims[i + 2], 'extend') and redis.call('ZSCORE', active, id) then
    redis.call('ZADD', active, 'XX', deadline, id)
  else
    lost[#lost + 1] = id
  end
end
return lost
