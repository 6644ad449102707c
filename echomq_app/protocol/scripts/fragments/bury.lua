-- Raise WRONGTYPE before the first write when one of these is no sorted set.
local function check_sets(...)
  for _, set in ipairs({ ... }) do redis.call('ZCARD', set) end
end

-- Set a member aside whose row cannot be worked with: its id to dead, the reason where it can be written, and a
-- flow's parent is told where one can be read.
local function bury_broken(dead, row, id, reason, base)
  redis.call('ZADD', dead, 0, id)
  redis.pcall('HSET', row, 'state', 'dead', 'last_error', reason)
  local fields = redis.pcall('HMGET', row, 'parent', 'parent_queue', 'parent_policy')
  tell_parents(base, id, { parent = fields[1], parent_queue = fields[2], parent_policy = fields[3] }, reason)
end
