-- Make a job claimable again: in its lane when it has one, else in pending. Answers how many flat jobs that adds.
local function put_waiting(pending, id, lane, was_running)
  if not lane then
    redis.call('ZADD', pending, 0, id)
    return 1
  end
  lane_job_waits(lane, id)
  if was_running then lane_job_stopped(lane) end
  ring_lane(lane)
  return 0
end
