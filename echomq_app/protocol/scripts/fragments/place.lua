-- Where a held job stands: 'active', the key of the waiting set it lapsed back to, or nil.
local function find_held(base, active, id, lane)
  if redis.call('ZSCORE', active, id) then return 'active' end
  if lane then return redis.call('ZSCORE', lane.key, id) and lane.key or nil end
  for _, set in ipairs({ 'pending', 'high', 'low' }) do
    if redis.call('ZSCORE', base .. set, id) then return base .. set end
  end
end

-- Take a held job out of the set where it was found.
local function leave_place(active, id, lane, place)
  if place == 'active' then
    redis.call('ZREM', active, id)
    if lane then
      lane_job_stopped(lane)
      ring_lane(lane)
    end
  elseif lane then
    lane_job_left(lane, id)
  else
    redis.call('ZREM', place, id)
  end
end
