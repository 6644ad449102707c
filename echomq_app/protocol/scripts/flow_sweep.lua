-- flow_sweep: take out of the outbox what was carried, and set aside what nobody can carry.
--
-- FLAGS      allow-oom
-- KEYS[1]    outbox    list    emq:{q}:flow:outbox
-- KEYS[2]    aside     list    emq:{q}:flow:aside
-- ARGV[1..]  entries   pairs   carried or aside, and the entry as it stood in the outbox
--
-- REPLY  n           how many were taken out
-- ERROR  ERR         a word is neither carried nor aside
local outbox, aside, entries = KEYS[1], KEYS[2], ARGV
local taken = 0
for i = 1, #entries, 2 do
  if entries[i] ~= 'carried' and entries[i] ~= 'aside' then
    return redis.error_reply('ERR flow_sweep takes carried or aside before each entry')
  end
end
redis.call('LLEN', aside)
for i = 1, #entries, 2 do
  if redis.call('LREM', outbox, 1, entries[i + 1]) == 1 then
    taken = taken + 1
    if entries[i] == 'aside' then
      redis.call('RPUSH', aside, entries[i + 1])
      redis.call('LTRIM', aside, -100, -1)
    end
  end
end
return taken
