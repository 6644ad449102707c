-- Raise WRONGTYPE before the first write when one of these is no sorted set.
local function check_sets(...)
  for _, set in ipairs({ ... }) do redis.call('ZCARD', set) end
end

-- Set a member aside whose row cannot be worked with: its id to dead, the reason where it can be written.
local function bury_broken(dead, row, id, reason)
  redis.call('ZADD', dead, 0, id)
  redis.pcall('HSET', row, 'state', 'dead', 'last_error', reason)
end
