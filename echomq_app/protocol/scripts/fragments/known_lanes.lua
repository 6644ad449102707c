-- Every lane that the queue's books name, those of the ring first and in its order.
local function known_lanes(base)
  local books = {
    redis.call('LRANGE', base .. 'ring', 0, -1), redis.call('SMEMBERS', base .. 'groups'),
    redis.call('SMEMBERS', base .. 'paused'), redis.call('HKEYS', base .. 'gactive'),
  }
  local lanes, seen = {}, {}
  for _, book in ipairs(books) do
    for _, group in ipairs(book) do
      if not seen[group] then lanes[#lanes + 1] = group end
      seen[group] = true
    end
  end
  return lanes
end
