-- Move what is due from schedule to its waiting set. Answers how many moved, and how many of them are flat.
local function promote_due(schedule, pending, base, batch, now)
  local moved, flat = 0, 0
  local due = redis.call('ZRANGEBYSCORE', schedule, '-inf', now, 'LIMIT', 0, batch)
  if #due > 0 then check_sets(pending, base .. 'dead') end
  for _, id in ipairs(due) do
    local row = base .. 'job:' .. id
    local fields = redis.pcall('HMGET', row, 'attempts', 'group')
    local readable, lane = lane_of(base, fields[2])
    if fields.err or (not fields[1] and redis.call('EXISTS', row) == 1) then
      bury_broken(base .. 'dead', row, id, 'the row of this job cannot be read: it was set aside when it fell due')
    elseif not readable then
      bury_broken(base .. 'dead', row, id, 'the lane of this job cannot be read: it was set aside when it fell due')
    elseif fields[1] then
      flat = flat + put_waiting(pending, id, lane)
      redis.call('HSET', row, 'state', 'pending')
      moved = moved + 1
    end
    redis.call('ZREM', schedule, id)
  end
  return moved, flat
end
