-- slot_remove: end a schedule of ours; jobs that it has admitted go on.
--
-- FLAGS    allow-oom
-- KEYS[1]  slots     zset  emq:{q}:slots
-- KEYS[2]  slot      hash  emq:{q}:slot:<name>
-- ARGV[1]  name      text  the schedule's name
-- ARGV[2]? revision  text  the revision that the caller saw; '' or absent: whichever stands there
--
-- REPLY  1           removed
-- REPLY  0           there is none of that name and revision
local slots, slot, name, revision = KEYS[1], KEYS[2], ARGV[1], ARGV[2] or ''
redis.call('ZCARD', slots)
if revision ~= '' and redis.pcall('HGET', slot, 'revision') ~= revision then return 0 end
local listed = redis.call('ZREM', slots, name)
if redis.call('DEL', slot) + listed > 0 then return 1 end
return 0
