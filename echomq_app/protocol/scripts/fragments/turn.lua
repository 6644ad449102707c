-- One turn of the ring (protocol 4.16): serve the next lane that can be served, and put it behind the others. A lane
-- that has nothing to give leaves the ring; one whose set cannot be read is passed over. At most 1000 lanes are looked
-- at, so that a ring of empty lanes costs no more than a bounded time.
local function leave_ring(lane)
  redis.call('LREM', lane.base .. 'ring', 1, lane.group)
  lane.ringed = false
end

local function serve_lane(lane, active, dead, lease_ms, size, label, now)
  local jobs = take_jobs(lane.key, active, dead, lane.base, lease_ms, size, label, now, lane.group)
  for _, job in ipairs(jobs) do job[6] = lane.group end
  lane.waiting = redis.call('ZCARD', lane.key)
  lane_jobs_started(lane, #jobs)
  leave_ring(lane)
  if can_be_served(lane) then redis.call('RPUSH', lane.base .. 'ring', lane.group) end
  return jobs
end

-- `size_of` says how many jobs a lane may give in one turn. Nothing is handed out while the queue is paused.
local function take_turn(active, dead, base, lease_ms, label, now, size_of)
  local ring, passed = base .. 'ring', 0
  if redis.pcall('HGET', base .. 'meta', 'paused') then return {} end
  check_sets(active, dead)
  for _ = 1, 1000 do
    local group = redis.call('LINDEX', ring, passed)
    if not group then break end
    if type(redis.pcall('ZCARD', base .. 'g:' .. group .. ':pending')) ~= 'number' then
      passed = passed + 1
    else
      local lane = read_lane(base, group)
      local size = math.floor(math.min(size_of(lane), (lane.limit or math.huge) - lane.running))
      if size > 0 and can_be_served(lane) then
        local jobs = serve_lane(lane, active, dead, lease_ms, size, label, now)
        if #jobs > 0 then return jobs end
      else
        leave_ring(lane)
        forget_idle(lane)
      end
    end
  end
  return {}
end
