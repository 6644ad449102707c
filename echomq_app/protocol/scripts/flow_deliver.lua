-- flow_deliver: tell a parent how a child on another queue ended. A second telling changes nothing.
--
-- FLAGS    allow-oom
-- USES     wake flow
-- KEYS[1]  row       hash    emq:{q}:job:<id>, the parent's
-- KEYS[2]  base      prefix  emq:{q}:
-- ARGV[1]  parent    text    the parent's id
-- ARGV[2]  child     text    the child's id
-- ARGV[3]  fate      word    done; fp: it died and fails its parent; id: it died and is ignored
-- ARGV[4]  text      bytes   its result, or its error
--
-- REPLY  1           told
-- REPLY  0           known already, or there is no such parent: nothing was written
-- ERROR  ERR         the fate is none of the three
local row, base, parent, child, fate, text = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if fate ~= 'done' and fate ~= 'fp' and fate ~= 'id' then
  return redis.error_reply('ERR flow_deliver takes done, fp or id')
end
if redis.call('EXISTS', row) == 0 then return 0 end
local job = { parent = parent, parent_policy = fate }
check_telling(base, job)
if tell_parents(base, child, job, text, fate == 'done') then return 1 end
return 0
