-- beat: a worker's whole beat: reap what lapsed, promote what is due, trim what expired, claim.
--
-- FLAGS    allow-oom
-- USES     clock whole wake lane waiting flow bury come_back retained survey claim
-- KEYS[1]  schedule  zset    emq:{q}:schedule
-- KEYS[2]  pending   zset    emq:{q}:pending
-- KEYS[3]  active    zset    emq:{q}:active
-- KEYS[4]  dead      zset    emq:{q}:dead
-- KEYS[5]  base      prefix  emq:{q}:
-- KEYS[6]? wake      list    emq:{q}:wake, when workers shall be told
-- ARGV[1]  batch     int     at most so many are reaped, promoted, trimmed; 0: claim alone
-- ARGV[2]  lease_ms  int     how long the leases last, ms
-- ARGV[3]  size      int     claim at most so many, 0 to 1000
-- ARGV[4]  label     text    unique to this call
--
-- REPLY  [reaped, promoted, trimmed, next_ms, jobs, outbox]  next_ms: until something falls due or lapses, -1 when
--                                                            nothing will; jobs as claim_many answers them;
--                                                            outbox: how much waits to be carried to other queues
-- ERROR  ERR         an argument is not a whole number in range
local schedule, pending, active, dead, base, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local batch, lease_ms, size, label = whole(ARGV[1], 0), whole(ARGV[2], 1), whole(ARGV[3], 0), ARGV[4]
if not batch or not lease_ms or not size or size > 1000 then
  return redis.error_reply('ERR beat takes whole numbers: a batch, a lease in ms, a size of 0 to 1000')
end
local now, reaped, promoted, trimmed, jobs, outbox = server_ms(), 0, 0, 0, {}, 0
if batch > 0 then
  local flat_back, flat_due
  check_sets(schedule, pending, active, dead)
  reaped, flat_back = come_back(active, pending, base, batch, now, true)
  promoted, flat_due = come_back(schedule, pending, base, batch, now, false)
  local listed, forgotten = pcall(trim_retained, base, batch, now)
  trimmed = listed and forgotten or 0
  pcall(survey_lanes, base)
  push_wake(wake, flat_back + flat_due - size)
  outbox = redis.pcall('LLEN', base .. 'flow:outbox')
end
if size > 0 then jobs = claim_jobs(pending, active, dead, base, wake, lease_ms, size, label, now) end
local next_ms = -1
for _, set in ipairs({ schedule, active }) do
  local first = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if first[2] then
    local left = math.max(0, tonumber(first[2]) - now)
    if next_ms < 0 or left < next_ms then next_ms = left end
  end
end
return { reaped, promoted, trimmed, next_ms, jobs, type(outbox) == 'number' and outbox or 0 }
