-- What stays of a job that has ended (decision 11): a receipt, or an outcome whose first line is the receipt.
-- result, done, outcomes and expire are always written or removed together.
local function drop_retained(base, id)
  redis.pcall('DEL', base .. 'result:' .. id)
  redis.pcall('ZREM', base .. 'done', id)
  redis.pcall('ZREM', base .. 'outcomes', id)
  redis.pcall('ZREM', base .. 'expire', id)
end

local function keep_receipt(base, id, line, until_ms, now)
  redis.pcall('SET', base .. 'result:' .. id, line, 'PX', until_ms - now)
  redis.pcall('ZREM', base .. 'done', id)
  redis.pcall('ZREM', base .. 'outcomes', id)
  redis.pcall('ZADD', base .. 'expire', until_ms, id)
end

local function keep_outcome(base, id, line, outcome, until_ms, now)
  redis.pcall('SET', base .. 'result:' .. id, line .. '\n' .. outcome, 'PX', until_ms - now)
  redis.pcall('ZADD', base .. 'done', 0, id)
  redis.pcall('ZADD', base .. 'outcomes', until_ms, id)
  redis.pcall('ZADD', base .. 'expire', until_ms, id)
end

-- The receipt's line: mark, token, end of the receipt in ms, label.
local function receipt_line(mark, token, until_ms, label)
  return mark .. ' ' .. token .. ' ' .. string.format('%.0f', until_ms) .. ' ' .. label
end

-- Whether what is kept of a job says that `label` ended it.
local function ended_by(base, id, label)
  local kept = redis.pcall('GET', base .. 'result:' .. id)
  return type(kept) == 'string' and string.match(kept, '^%S+ %d+ %d+ ([^\n]*)') == label
end

-- Cut outcomes over the bound to their receipts, the soonest to expire first.
local function bound_outcomes(base, limit, now)
  local count = redis.pcall('ZCARD', base .. 'outcomes')
  if type(count) ~= 'number' or count <= limit then return end
  for _, id in ipairs(redis.call('ZRANGE', base .. 'outcomes', 0, math.min(count - limit, 16) - 1)) do
    local kept = redis.pcall('GET', base .. 'result:' .. id)
    local line = type(kept) == 'string' and string.match(kept, '^[^\n]*')
    local until_ms = line and tonumber(string.match(line, '^%S+ %d+ (%d+) '))
    if until_ms and until_ms > now then
      keep_receipt(base, id, line, until_ms, now)
    else
      drop_retained(base, id)
    end
  end
end

local function trim_retained(base, limit, now)
  local due = redis.call('ZRANGEBYSCORE', base .. 'expire', '-inf', now, 'LIMIT', 0, limit)
  for _, id in ipairs(due) do drop_retained(base, id) end
  return #due
end
