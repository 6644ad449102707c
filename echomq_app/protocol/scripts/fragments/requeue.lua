-- Give a dead job all its attempts again. Answers 1, -1 when there is no such job, or nil and a refusal.
local function requeue_dead(row, dead, pending, base, id, label)
  local fields = redis.call('HMGET', row, 'attempts', 'group', 'settled')
  if not fields[1] then return -1 end
  local mark = fields[1] .. ' requeue ' .. label
  if not redis.call('ZSCORE', dead, id) then
    return nil, label ~= '' and fields[3] == mark and 'EMQSTALE parked: this very requeue has happened already'
      or 'EMQSTATE not dead: only a dead job can be requeued'
  end
  local flat = put_waiting(pending, id, fields[2] and read_lane(base, fields[2]))
  redis.call('ZREM', dead, id)
  redis.call('HSET', row, 'state', 'pending', 'excused', fields[1], 'settled', mark)
  redis.call('HDEL', row, 'last_error', 'lapses')
  drop_retained(base, id)
  return 1, flat
end
