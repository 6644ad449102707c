-- slot_write: write a schedule of ours, new or over the one that the caller saw.
--
-- FLAGS    none
-- USES     whole
-- KEYS[1]  slots          zset   emq:{q}:slots
-- KEYS[2]  slot           hash   emq:{q}:slot:<name>
-- ARGV[1]  name           text   the schedule's name
-- ARGV[2]  template       bytes  what the caller needs to build its jobs
-- ARGV[3]  revision       text   random, fresh at each write
-- ARGV[4]  due_ms         int    when its next slot is due, ms since 1970
-- ARGV[5]  seen_revision  text   the revision that the caller saw; '' for none
-- ARGV[6]  seen_due_ms    int    the due time that the caller saw; '' for none
--
-- REPLY  1           written, by this call or by its first sending
-- REPLY  0           what stands there is not what the caller saw, nothing was written
-- ERROR  ERR         there is no revision, or a time is not a whole number
local slots, slot, name, template, revision = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local due_ms, seen_revision, seen_due_ms = whole(ARGV[4], 0), ARGV[5], ARGV[6] ~= '' and whole(ARGV[6], 0)
if revision == '' or not due_ms or (ARGV[6] ~= '' and not seen_due_ms) then
  return redis.error_reply('ERR slot_write takes a revision, and times in whole milliseconds')
end
local stands, score = redis.call('HGET', slot, 'revision'), redis.call('ZSCORE', slots, name)
if stands == revision then return 1 end
if (stands or '') ~= seen_revision or (score and tonumber(score)) ~= seen_due_ms then return 0 end
redis.call('ZADD', slots, due_ms, name)
redis.call('HSET', slot, 'template', template, 'revision', revision)
return 1
