-- slot_fire: admit the job of a slot that is due and move the schedule to its next slot.
--
-- USES     clock whole wake
-- KEYS[1]  slots     zset    emq:{q}:slots
-- KEYS[2]  slot      hash    emq:{q}:slot:<name>
-- KEYS[3]  row       hash    emq:{q}:job:<id>
-- KEYS[4]  pending   zset    emq:{q}:pending
-- KEYS[5]  base      prefix  emq:{q}:
-- KEYS[6]? wake      list    emq:{q}:wake, when workers shall be told
-- ARGV[1]  name      text    the schedule's name
-- ARGV[2]  due_ms    int     when the slot is due, as the caller saw it
-- ARGV[3]  revision  text    the schedule's revision, as the caller saw it
-- ARGV[4]  last_ms   int     the latest slot that is not after now, as the caller computed it
-- ARGV[5]  next_ms   int     the slot to move on to
-- ARGV[6]  every     flag    1: each missed slot is to run, so the next one may be past too
-- ARGV[7]  id        text    the job's id, freshly minted
-- ARGV[8]  payload   bytes   opaque
--
-- REPLY  1           fired
-- REPLY  0           duplicate: the row or the receipt is there, nothing was written
-- REPLY  -1          moved: the schedule's due time or revision is not what the caller saw
-- REPLY  -2          early: the slot is not due by the server's clock
-- REPLY  -3          off: the server's clock is not between last and next; compute them anew
-- ERROR  EMQKIND     the id is not JOB-namespaced
-- ERROR  ERR         a time is not a whole number, or next is not after the slot
local slots, slot, row, pending, base, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local name, due_ms, revision, last_ms, next_ms = ARGV[1], whole(ARGV[2], 0), ARGV[3], whole(ARGV[4], 0), whole(ARGV[5], 0)
local every, id, payload = ARGV[6] == '1', ARGV[7], ARGV[8]
if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if not due_ms or not last_ms or not next_ms or (every and next_ms <= due_ms) then
  return redis.error_reply('ERR slot_fire takes whole milliseconds, and a next slot after the one that is due')
end
if redis.call('EXISTS', row, base .. 'result:' .. id) > 0 then return 0 end
if tonumber(redis.call('ZSCORE', slots, name) or '') ~= due_ms then return -1 end
if redis.call('HGET', slot, 'revision') ~= revision then return -1 end
local now = server_ms()
if due_ms > now then return -2 end
if not every and (last_ms > now or next_ms <= now) then return -3 end
redis.call('ZADD', pending, 0, id)
redis.call('HSET', row, 'state', 'pending', 'attempts', '0', 'payload', payload)
redis.call('ZADD', slots, next_ms, name)
push_wake(wake, 1)
return 1
