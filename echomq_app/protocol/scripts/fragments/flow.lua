-- A child of a flow tells its parent (protocol 4.12), in this slot or through the queue's outbox. A parent's books
-- live as long as its row: with an expiry it could run on a part of its children.

-- Refuse before the first write when a key of the queue that the telling may need has another type.
local function check_telling(base, job)
  if not job.parent then return end
  redis.call('LLEN', base .. 'flow:outbox')
  for _, set in ipairs({ 'pending', 'dead' }) do redis.call('ZCARD', base .. set) end
end

local function is_in_a_set(base, id)
  for _, set in ipairs({ 'pending', 'active', 'schedule', 'dead', 'high', 'low' }) do
    if type(redis.pcall('ZSCORE', base .. set, id)) == 'string' then return true end
  end
end

-- What a parent knows of its children; nil when it has no row. `broken` says why nothing can be noted there.
local function open_books(base, id)
  local row = base .. 'job:' .. id
  if redis.call('EXISTS', row) == 0 then return end
  local books = { id = id, row = row }
  local fields = redis.pcall('HMGET', row, 'state', 'parent', 'parent_queue', 'parent_policy')
  if fields.err then
    books.waits, books.broken = not is_in_a_set(base, id), 'its row is not a hash'
    return books
  end
  books.waits = fields[1] == 'awaiting_children'
  books.parent, books.parent_queue, books.parent_policy = fields[2], fields[3], fields[4]
  local left = redis.pcall('GET', row .. ':dependencies')
  if type(left) ~= 'string' or #left > 15 or not string.find(left, '^%-?%d+$') then
    books.broken = 'its count of children is no number'
  end
  for _, children in ipairs({ ':processed', ':failed', ':unsuccessful' }) do
    if type(redis.pcall('HLEN', row .. children)) ~= 'number' then
      books.broken = 'what it knows of its children is not a hash'
    end
  end
  return books
end

-- One child fewer; the last one releases a parent that waits.
local function count_down(base, books)
  if redis.call('DECR', books.row .. ':dependencies') > 0 or not books.waits then return end
  redis.call('ZADD', base .. 'pending', 0, books.id)
  redis.call('HSET', books.row, 'state', 'pending')
  push_wake(base .. 'wake', 1)
end

-- Note how a child ended, once; a completion outweighs every failure. Answers whether that was news, and why the
-- parent dies of it when it does.
local function note_end(base, books, child, fate, text)
  if books.broken then return books.waits, books.waits and books.broken end
  local processed, failed, ignored = books.row .. ':processed', books.row .. ':failed', books.row .. ':unsuccessful'
  if redis.call('HEXISTS', processed, child) == 1 then return false end
  if fate == 'done' then
    redis.call('HSET', processed, child, text)
    redis.call('HDEL', failed, child)
    if redis.call('HDEL', ignored, child) == 0 then count_down(base, books) end
    return true
  end
  if redis.call('HSETNX', fate == 'id' and ignored or failed, child, text) == 0 then return false end
  if fate ~= 'id' then return true, books.waits and string.sub('its child ' .. child .. ' died: ' .. text, 1, 8192) end
  count_down(base, books)
  return true
end

-- Tell how a child ended. A parent that dies of it is a dead child of its own parent. Answers whether that was news.
local function tell_parents(base, child, job, text, done)
  local news = false
  while job.parent do
    local fate = done and 'done' or job.parent_policy == 'id' and 'id' or 'fp'
    if job.parent_queue then
      local told = { job.parent_queue, job.parent, child, text }
      if not done then told = { '', 'fail', job.parent_queue, job.parent, child, fate, text } end
      redis.pcall('RPUSH', base .. 'flow:outbox', table.concat(told, '\0'))
      return true
    end
    local books = open_books(base, job.parent)
    if not books then return news end
    local noted, reason = note_end(base, books, child, fate, text)
    news = news or noted
    if not reason then return news end
    redis.call('ZADD', base .. 'dead', 0, books.id)
    redis.pcall('HSET', books.row, 'state', 'dead', 'last_error', reason)
    child, job, text, done = books.id, books, reason, false
  end
  return news
end
