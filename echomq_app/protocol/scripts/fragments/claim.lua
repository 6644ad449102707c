-- Lease up to `size` of the oldest waiting jobs of a set: peek, check, then write. Skips ghosts, buries broken rows.
-- With a `group` the set is that lane, and a job whose row names another is broken too.
local function peek_jobs(set, base, size, group)
  local ready, broken = {}, {}
  local ids = redis.call('ZRANGE', set, 0, size - 1)
  for _, id in ipairs(ids) do
    local row = base .. 'job:' .. id
    local fields = redis.pcall('HMGET', row, 'attempts', 'payload', 'excused', 'lapses', 'group')
    if fields.err then
      broken[#broken + 1] = { id, row, 'the row of this job is not a hash' }
    elseif fields[1] and not string.find(id, '^%u%u%u%w%w%w%w%w%w%w%w%w%w%w$') then
      broken[#broken + 1] = { id, row, 'this member is no job id: no worker could settle it' }
    elseif fields[1] and group and fields[5] ~= group then
      broken[#broken + 1] = { id, row, 'this job waited in a lane that its row does not name' }
    elseif fields[1] and fields[2] and string.find(fields[1], '^%d+$') and #fields[1] < 16 then
      ready[#ready + 1] = { id, fields[2], tonumber(fields[1]) + 1, fields[3] or '0', fields[4] or '0' }
    elseif redis.call('EXISTS', row) == 1 then
      broken[#broken + 1] = { id, row, 'the row of this job has no payload or no whole attempts' }
    end
  end
  return ids, ready, broken
end

local function lease_jobs(ready, active, base, lease_ms, label, now)
  local leases = {}
  for i, job in ipairs(ready) do
    leases[i * 2 - 1] = now + lease_ms
    leases[i * 2] = job[1]
  end
  if #ready > 0 then redis.call('ZADD', active, unpack(leases)) end
  for _, job in ipairs(ready) do
    local row = base .. 'job:' .. job[1]
    if label == '' then
      redis.call('HSET', row, 'attempts', job[3], 'state', 'active')
    else
      redis.call('HSET', row, 'attempts', job[3], 'state', 'active',
        'worker', job[3] .. ' ' .. label, 'claimed_at', now)
    end
  end
end

local function take_jobs(set, active, dead, base, lease_ms, size, label, now, group)
  local jobs = {}
  for _ = 1, 64 do
    local ids, ready, broken = peek_jobs(set, base, size - #jobs, group)
    if #broken > 0 and #jobs > 0 then return jobs end
    if #broken > 0 then check_sets(active) end
    for _, bad in ipairs(broken) do bury_broken(dead, bad[2], bad[1], bad[3], base) end
    lease_jobs(ready, active, base, lease_ms, label, now)
    for _, job in ipairs(ready) do jobs[#jobs + 1] = job end
    if #ids > 0 then redis.call('ZPOPMIN', set, #ids) end
    if #jobs >= size or redis.call('ZCARD', set) == 0 then return jobs end
  end
  return jobs
end

-- Hands out nothing while the pause flag has any value, or cannot be read. A claim that found less than it asked for
-- and leaves nothing to claim empties the wake list.
local function claim_jobs(pending, active, dead, base, wake, lease_ms, size, label, now)
  if redis.pcall('HGET', base .. 'meta', 'paused') then return {} end
  local jobs = take_jobs(pending, active, dead, base, lease_ms, size, label, now)
  if wake and #jobs < size and redis.call('ZCARD', pending) == 0 and redis.call('EXISTS', base .. 'ring') == 0 then
    redis.pcall('DEL', wake)
  end
  return jobs
end
