-- A lane's books (protocol 4.16). Read them whole before the first write, so that a wrong type refuses.
local function read_lane(base, group)
  local lane = { base = base, group = group, key = base .. 'g:' .. group .. ':pending' }
  lane.waiting = redis.call('ZCARD', lane.key)
  lane.running = tonumber(redis.call('HGET', base .. 'gactive', group) or '0') or 0
  lane.limit = tonumber(redis.call('HGET', base .. 'glimit', group) or '')
  lane.parked = redis.call('SISMEMBER', base .. 'paused', group) == 1
  lane.ringed = redis.call('LPOS', base .. 'ring', group) ~= false
  return lane
end

-- Whether the lane of a job can be read, and the lane; a job without one has none.
local function lane_of(base, group)
  if not group then return true end
  return pcall(read_lane, base, group)
end

-- Whether the lane has work, is not parked and is below its ceiling.
local function can_be_served(lane)
  return lane.waiting > 0 and not lane.parked and not (lane.limit and lane.running >= lane.limit)
end

-- Put the lane back in rotation when it can be served.
local function ring_lane(lane)
  if lane.ringed or not can_be_served(lane) then return end
  redis.call('RPUSH', lane.base .. 'ring', lane.group)
  push_wake(lane.base .. 'wake', 1)
end

-- `groups` holds the lanes that have work (decision 10): a lane leaves it with its last job.
local function forget_idle(lane)
  if lane.waiting < 1 and lane.running < 1 then redis.pcall('SREM', lane.base .. 'groups', lane.group) end
end

-- Written from what was read, because HINCRBY would fail half-way on a count that is no number.
local function lane_job_stopped(lane)
  lane.running = math.max(lane.running - 1, 0)
  if lane.running > 0 then
    redis.call('HSET', lane.base .. 'gactive', lane.group, lane.running)
  else
    redis.call('HDEL', lane.base .. 'gactive', lane.group)
  end
  forget_idle(lane)
end

local function lane_jobs_started(lane, count)
  lane.running = lane.running + count
  if count > 0 then
    redis.call('HSET', lane.base .. 'gactive', lane.group, lane.running)
    redis.pcall('SADD', lane.base .. 'groups', lane.group)
  end
  forget_idle(lane)
end

local function lane_job_waits(lane, id)
  lane.waiting = lane.waiting + redis.call('ZADD', lane.key, 0, id)
  redis.pcall('SADD', lane.base .. 'groups', lane.group)
end

local function lane_job_left(lane, id)
  lane.waiting = lane.waiting - redis.call('ZREM', lane.key, id)
  if lane.waiting < 1 then redis.call('LREM', lane.base .. 'ring', 0, lane.group) end
  forget_idle(lane)
end
