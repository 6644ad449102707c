-- All keys of a queue that have one name. `meta` goes with the last of them: its pause flag guards the calls before.
local function books_of(base)
  return {
    base .. 'active', base .. 'pending', base .. 'schedule', base .. 'dead', base .. 'high', base .. 'low',
    base .. 'groups', base .. 'ring', base .. 'gactive', base .. 'glimit', base .. 'gweight', base .. 'paused',
    base .. 'expire', base .. 'done', base .. 'outcomes', base .. 'dids', base .. 'repeat', base .. 'slots',
    base .. 'wake', base .. 'limiter', base .. 'flow:outbox', base .. 'flow:aside',
    base .. 'meta',
    base .. 'metrics:completed', base .. 'metrics:completed:data',
    base .. 'metrics:failed', base .. 'metrics:failed:data', base .. 'stale', base .. 'metrics:stale',
  }
end

-- Read all that will be walked, so that a wrong type refuses before the first write.
local function check_queue(base)
  check_sets(base .. 'active', base .. 'pending', base .. 'schedule', base .. 'dead', base .. 'high', base .. 'low',
    base .. 'expire', base .. 'repeat', base .. 'slots')
  redis.call('HLEN', base .. 'dids')
  for _, group in ipairs(known_lanes(base)) do check_sets(base .. 'g:' .. group .. ':pending') end
end

-- A job goes, and so do the parents above it that wait for children: no set holds those.
local function obliterate_job(base, id)
  for _ = 1, 9 do
    local fields = redis.pcall('HMGET', base .. 'job:' .. id, 'parent', 'parent_queue')
    wipe_job(base, id)
    if fields.err or not fields[1] or fields[2] then return end
    id = fields[1]
    if redis.pcall('HGET', base .. 'job:' .. id, 'state') ~= 'awaiting_children' then return end
  end
end

-- Each of these takes what it may and answers what is left of the budget.
local function obliterate_set(base, set, left, forget)
  if left < 1 then return 0 end
  local members = redis.call('ZRANGE', set, 0, left - 1)
  for _, member in ipairs(members) do forget(base, member) end
  if #members > 0 then redis.call('ZREM', set, unpack(members)) end
  return left - #members
end

local function obliterate_jobs(base, left)
  for _, set in ipairs({ 'active', 'pending', 'schedule', 'dead', 'high', 'low' }) do
    left = obliterate_set(base, base .. set, left, obliterate_job)
  end
  return left
end

local function obliterate_lanes(base, left)
  for _, group in ipairs(known_lanes(base)) do
    left = obliterate_set(base, base .. 'g:' .. group .. ':pending', left, obliterate_job)
    if left < 1 then return 0 end
    redis.call('LREM', base .. 'ring', 1, group)
    for _, set in ipairs({ 'groups', 'paused' }) do redis.call('SREM', base .. set, group) end
    redis.call('HDEL', base .. 'gactive', group)
    left = left - 1
  end
  return left
end

local function obliterate_kept(base, id)
  drop_retained(base, id)
  wipe_job(base, id)
end

local function obliterate_repeat(base, name) redis.call('DEL', base .. 'repeat:' .. name) end

local function obliterate_slot(base, name) redis.call('DEL', base .. 'slot:' .. name) end

local function obliterate_lists(base, left)
  left = obliterate_set(base, base .. 'expire', left, obliterate_kept)
  left = obliterate_set(base, base .. 'repeat', left, obliterate_repeat)
  left = obliterate_set(base, base .. 'slots', left, obliterate_slot)
  if left < 1 then return 0 end
  local ids = redis.call('HRANDFIELD', base .. 'dids', left)
  for _, id in ipairs(ids) do release_dedup(base, id) end
  return left - #ids
end
