-- End a held job: checks, then one fewer everywhere. Answers the row's facts, or nil and a refusal.
local function finish(active, row, base, id, token, label, result)
  local job, why = read_holder(row, token, label, 'complete')
  if not job then return nil, why end
  local lane = job.group and read_lane(base, job.group)
  local place = find_held(base, active, id, lane)
  if not place then return nil, 'place' end
  check_telling(base, job)
  leave_place(active, id, lane, place)
  drop_row(row)
  redis.pcall('HINCRBY', base .. 'metrics:completed', 'count', 1)
  tell_parents(base, id, job, result, true)
  return job
end
