-- How many more jobs may run by `meta`'s `concurrency`; what is no whole number above zero sets no ceiling.
local function headroom(meta, active)
  local running = redis.call('ZCARD', active)
  local most = whole(redis.call('HGET', meta, 'concurrency') or '', 1)
  return most and math.max(most - running, 0) or math.huge
end
