-- Move the members of `set` whose instant is past to their waiting sets, at most `limit`; a member whose row or lane
-- cannot be read is set aside. `lapsed`: their leases ran out, and that is counted. Answers how many moved, and how
-- many of them are flat.
local function give_back(set, pending, base, id, lapsed)
  local row, moved, flat = base .. 'job:' .. id, 0, 0
  local fields = redis.pcall('HMGET', row, 'attempts', 'group')
  local readable, lane = lane_of(base, fields[2])
  local aside = ' of this job cannot be read: it was set aside when ' .. (lapsed and 'its lease lapsed' or 'it fell due')
  if fields.err or (not fields[1] and redis.call('EXISTS', row) == 1) then
    bury_broken(base .. 'dead', row, id, 'the row' .. aside, base)
  elseif not readable then
    bury_broken(base .. 'dead', row, id, 'the lane' .. aside, base)
  elseif fields[1] then
    moved, flat = 1, put_waiting(pending, id, lane, lapsed)
    redis.call('HSET', row, 'state', 'pending')
    if lapsed then redis.pcall('HINCRBY', row, 'lapses', 1) end
  end
  redis.call('ZREM', set, id)
  return moved, flat
end

local function come_back(set, pending, base, limit, now, lapsed)
  local moved, flat = 0, 0
  local due = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, limit)
  if #due > 0 then check_sets(pending, base .. 'dead') end
  for _, id in ipairs(due) do
    local one, one_flat = give_back(set, pending, base, id, lapsed)
    moved, flat = moved + one, flat + one_flat
  end
  return moved, flat
end
