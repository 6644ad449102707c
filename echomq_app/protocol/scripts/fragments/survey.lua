-- Keep `groups` true for lanes that other programs filled or emptied (decision 10). A hundred a beat of each
-- list, drawn at random, so that a beat's cost does not grow with the lanes.
local function lane_has_jobs(base, group)
  return redis.call('EXISTS', base .. 'g:' .. group .. ':pending') == 1
    or redis.call('HEXISTS', base .. 'gactive', group) == 1
end

local function survey_lanes(base)
  if redis.call('EXISTS', base .. 'ring', base .. 'gactive', base .. 'paused', base .. 'groups') == 0 then return end
  local seen = {
    redis.call('LRANGE', base .. 'ring', 0, 99), redis.call('HRANDFIELD', base .. 'gactive', 100),
    redis.call('SRANDMEMBER', base .. 'paused', 100), redis.call('SRANDMEMBER', base .. 'groups', 100),
  }
  for _, groups in ipairs(seen) do
    for _, group in ipairs(groups) do
      redis.call(lane_has_jobs(base, group) and 'SADD' or 'SREM', base .. 'groups', group)
    end
  end
end
