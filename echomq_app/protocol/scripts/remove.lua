-- remove: end a job's life wherever it waits, and leave a receipt.
--
-- FLAGS    allow-oom
-- USES     clock whole wake lane flow bury retained mark dedup row wipe
-- KEYS[1]  row         hash    emq:{q}:job:<id>
-- KEYS[2]  pending     zset    emq:{q}:pending
-- KEYS[3]  active      zset    emq:{q}:active
-- KEYS[4]  schedule    zset    emq:{q}:schedule
-- KEYS[5]  dead        zset    emq:{q}:dead
-- KEYS[6]  base        prefix  emq:{q}:
-- ARGV[1]  id          text    the job's id
-- ARGV[2]? force       flag    1: take it from its holder too
-- ARGV[3]? label       text    unique to this call, for the receipt, so that a resend is known
-- ARGV[4]? receipt_ms  int     leave a receipt for so long; 0 or absent: nothing remains
-- ARGV[5]? did         text    a deduplication key to release with it
--
-- REPLY  1           removed
-- REPLY  -1          gone: there is no such job, a ghost of it was cleared; or this very call has ended it before
-- ERROR  EMQLOCK     somebody holds the job
-- ERROR  ERR         the receipt's time is not a whole number
local row, pending, active, schedule, dead, base = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local id, force, label, receipt_ms, did = ARGV[1], ARGV[2] == '1', ARGV[3] or '', whole(ARGV[4] or '0', 0), ARGV[5]
if not receipt_ms then return redis.error_reply('ERR remove takes a receipt of whole milliseconds') end
if label ~= '' and ended_by(base, id, label) then return -1 end
local fields = redis.pcall('HMGET', row, 'attempts', 'group', 'payload', 'lock',
  'parent', 'parent_queue', 'parent_policy')
if fields.err then fields = {} end
local held = redis.call('ZSCORE', active, id)
local job = { parent = fields[5], parent_queue = fields[6], parent_policy = fields[7] }
check_sets(pending, schedule, dead)
check_telling(base, job)
if not force and (held or fields[4] or redis.call('EXISTS', row .. ':lock') == 1) then
  return redis.error_reply('EMQLOCK somebody holds the job')
end
local lane = fields[2] and read_lane(base, fields[2])
local existed = redis.call('EXISTS', row)
for _, set in ipairs({ pending, active, schedule, dead }) do redis.call('ZREM', set, id) end
if lane then
  lane_job_left(lane, id)
  if held then
    lane_job_stopped(lane)
    ring_lane(lane)
  end
end
if did and did ~= '' and redis.pcall('GET', base .. 'de:' .. did) == id then
  redis.call('DEL', base .. 'de:' .. did)
end
wipe_job(base, id)
if existed == 0 then return -1 end
tell_parents(base, id, job, 'it was removed')
if receipt_ms > 0 and fields[3] then
  local now = server_ms()
  local line = receipt_line(payload_mark(fields[3]), fields[1] or '0', now + receipt_ms, label)
  keep_receipt(base, id, line, now + receipt_ms, now)
end
return 1
