-- Give back what lapsed leases held. Answers how many came back, and how many of them are flat.
local function reap_lapsed(active, pending, base, limit, now)
  local moved, flat = 0, 0
  local due = redis.call('ZRANGEBYSCORE', active, '-inf', now, 'LIMIT', 0, limit)
  if #due > 0 then check_sets(pending, base .. 'dead') end
  for _, id in ipairs(due) do
    local row = base .. 'job:' .. id
    local fields = redis.pcall('HMGET', row, 'attempts', 'group')
    local readable, lane = lane_of(base, fields[2])
    if fields.err or (not fields[1] and redis.call('EXISTS', row) == 1) then
      bury_broken(base .. 'dead', row, id, 'the row of this job cannot be read: it was set aside when its lease lapsed')
    elseif not readable then
      bury_broken(base .. 'dead', row, id, 'the lane of this job cannot be read: it was set aside when its lease lapsed')
    elseif fields[1] then
      flat = flat + put_waiting(pending, id, lane, true)
      redis.call('HSET', row, 'state', 'pending')
      redis.pcall('HINCRBY', row, 'lapses', 1)
      moved = moved + 1
    end
    redis.call('ZREM', active, id)
  end
  return moved, flat
end
