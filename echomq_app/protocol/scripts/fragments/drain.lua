-- End a job that waits: its flow's parent hears of a death, and a receipt is left when one is asked for.
local function end_waiting(base, id, reason, label, receipt_ms, now)
  local fields = redis.pcall('HMGET', base .. 'job:' .. id,
    'attempts', 'payload', 'parent', 'parent_queue', 'parent_policy')
  if fields.err then fields = {} end
  local job = { parent = fields[3], parent_queue = fields[4], parent_policy = fields[5] }
  if pcall(check_telling, base, job) then tell_parents(base, id, job, reason) end
  wipe_job(base, id)
  if receipt_ms > 0 and fields[2] then
    local line = receipt_line(payload_mark(fields[2]), fields[1] or '0', now + receipt_ms, label)
    keep_receipt(base, id, line, now + receipt_ms, now)
  end
end
