-- repeat_cancel: end a repeat; jobs that it has admitted go on.
--
-- FLAGS    allow-oom
-- KEYS[1]  repeat   zset    emq:{q}:repeat
-- KEYS[2]  record   hash    emq:{q}:repeat:<name>
-- ARGV[1]  name     text    the repeat's name
--
-- REPLY  1          cancelled
-- REPLY  0          there is none of that name
local repeats, record, name = KEYS[1], KEYS[2], ARGV[1]
local listed = redis.call('ZREM', repeats, name)
local kept = redis.call('DEL', record)
if listed + kept > 0 then return 1 end
return 0
