-- End a held job: checks, then one fewer everywhere. Answers the row's facts, or nil and a refusal.
local function finish(active, row, base, id, token, label, result)
  local job, why = read_holder(row, token, label, 'complete')
  if not job then return nil, why end
  local lane = job.group and read_lane(base, job.group)
  local place = find_held(base, active, id, lane)
  if not place then return nil, 'place' end
  read_parent(base, job)
  leave_place(active, id, lane, place)
  redis.call('DEL', row, row .. ':logs', row .. ':errors')
  redis.pcall('HINCRBY', base .. 'metrics:completed', 'count', 1)
  child_completed(base, id, job, result)
  return job
end
