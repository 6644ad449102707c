-- state: where a job is, by the sets and not by its word.
--
-- FLAGS    no-writes
-- KEYS[1]  pending   zset    emq:{q}:pending
-- KEYS[2]  active    zset    emq:{q}:active
-- KEYS[3]  schedule  zset    emq:{q}:schedule
-- KEYS[4]  dead      zset    emq:{q}:dead
-- KEYS[5]  row       hash    emq:{q}:job:<id>
-- KEYS[6]  base      prefix  emq:{q}:
-- ARGV[1]  id        text    the job's id
--
-- REPLY  pending            in pending, in its lane, in high or in low
-- REPLY  active             leased
-- REPLY  scheduled          parked
-- REPLY  dead               in the morgue
-- REPLY  awaiting_children  a flow's parent
-- REPLY  unknown            a row that no set holds
-- REPLY  done               ended, its outcome or receipt still kept
-- REPLY  absent             nothing is known
local row, base, id = KEYS[5], KEYS[6], ARGV[1]
local words = { 'pending', 'active', 'scheduled', 'dead' }
for i, set in ipairs({ KEYS[1], KEYS[2], KEYS[3], KEYS[4] }) do
  if redis.call('ZSCORE', set, id) then return words[i] end
end
for _, set in ipairs({ 'high', 'low' }) do
  if redis.call('ZSCORE', base .. set, id) then return 'pending' end
end
local fields = redis.call('HMGET', row, 'state', 'group')
if fields[2] and redis.call('ZSCORE', base .. 'g:' .. fields[2] .. ':pending', id) then return 'pending' end
if fields[1] == 'awaiting_children' then return 'awaiting_children' end
if redis.call('EXISTS', row) == 1 then return 'unknown' end
if redis.call('EXISTS', base .. 'result:' .. id) == 1 then return 'done' end
return 'absent'
