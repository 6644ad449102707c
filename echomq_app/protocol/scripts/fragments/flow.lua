-- A child of a flow tells its parent (protocol 4.12), in this slot or through the queue's outbox.

-- Read all that the end of a child may touch, so that a wrong type refuses before the first write.
local function read_parent(base, job)
  if not job.parent then return end
  if job.parent_queue then
    redis.call('LLEN', base .. 'flow:outbox')
    return
  end
  local row = base .. 'job:' .. job.parent
  redis.call('HGET', row, 'state')
  redis.call('GET', row .. ':dependencies')
  for _, children in ipairs({ ':processed', ':failed', ':unsuccessful' }) do redis.call('HLEN', row .. children) end
  for _, set in ipairs({ 'pending', 'dead' }) do redis.call('ZCARD', base .. set) end
end

local function release_parent(base, row, parent)
  if redis.call('HGET', row, 'state') ~= 'awaiting_children' then return end
  redis.call('HSET', row, 'state', 'pending')
  redis.call('ZADD', base .. 'pending', 0, parent)
  push_wake(base .. 'wake', 1)
end

-- One child fewer to wait for. A counter that is no number releases nobody.
local function child_settled(base, row, parent)
  local left = redis.pcall('DECR', row .. ':dependencies')
  if type(left) == 'number' and left <= 0 then release_parent(base, row, parent) end
end

local function child_completed(base, id, job, result)
  if not job.parent then return end
  if job.parent_queue then
    redis.call('RPUSH', base .. 'flow:outbox',
      table.concat({ job.parent_queue, job.parent, id, result }, '\0'))
    return
  end
  local row = base .. 'job:' .. job.parent
  if redis.call('EXISTS', row) == 0 then return end
  if redis.call('HSETNX', row .. ':processed', id, result) == 0 then return end
  child_settled(base, row, job.parent)
end

local function child_died(base, id, job, reason)
  if not job.parent then return end
  local policy = job.parent_policy or 'fp'
  if job.parent_queue then
    redis.call('RPUSH', base .. 'flow:outbox',
      table.concat({ '', 'fail', job.parent_queue, job.parent, id, policy, reason }, '\0'))
    return
  end
  local row = base .. 'job:' .. job.parent
  if redis.call('EXISTS', row) == 0 then return end
  if policy == 'id' then
    if redis.call('HSETNX', row .. ':unsuccessful', id, reason) == 1 then child_settled(base, row, job.parent) end
  elseif redis.call('HSETNX', row .. ':failed', id, reason) == 1
    and redis.call('HGET', row, 'state') == 'awaiting_children' then
    redis.call('ZADD', base .. 'dead', 0, job.parent)
    redis.call('HSET', row, 'state', 'dead')
  end
end
