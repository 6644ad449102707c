-- Give a dead job all its attempts again. Answers 1, -1 when there is no such job, or nil and a refusal.
-- `requeued` keeps the label, so that a resend is known even when the job has died again in between.
local function requeue_dead(row, dead, pending, base, id, label)
  local fields = redis.call('HMGET', row, 'attempts', 'group', 'requeued')
  if not fields[1] then return -1 end
  if label ~= '' and fields[3] == label then
    return nil, 'EMQSTALE parked: this very requeue has happened already'
  end
  if not redis.call('ZSCORE', dead, id) then
    return nil, 'EMQSTATE not dead: only a dead job can be requeued'
  end
  local flat = put_waiting(pending, id, fields[2] and read_lane(base, fields[2]))
  redis.call('ZREM', dead, id)
  redis.call('HSET', row, 'state', 'pending', 'excused', fields[1],
    'settled', fields[1] .. ' requeue ' .. label)
  if label ~= '' then redis.call('HSET', row, 'requeued', label) end
  redis.call('HDEL', row, 'last_error', 'lapses')
  drop_retained(base, id)
  return 1, flat
end
