-- counts: a queue's numbers, read together.
--
-- FLAGS    no-writes
-- USES     clock known_lanes
-- KEYS[1]  base      prefix  emq:{q}:
--
-- REPLY  [numbers]  pending, active, schedule, dead, done, completed, failed; laned: waiting in lanes; paused: 0 or 1;
--                   oldest: the oldest flat id or ''; next_due and next_lapse: ms since 1970 or ''; now: server ms
local base = KEYS[1]
local function first_score(set)
  return redis.call('ZRANGE', base .. set, 0, 0, 'WITHSCORES')[2] or ''
end
local laned = 0
for _, group in ipairs(known_lanes(base)) do laned = laned + redis.call('ZCARD', base .. 'g:' .. group .. ':pending') end
return {
  redis.call('ZCARD', base .. 'pending'), redis.call('ZCARD', base .. 'active'),
  redis.call('ZCARD', base .. 'schedule'), redis.call('ZCARD', base .. 'dead'), redis.call('ZCARD', base .. 'done'),
  tonumber(redis.call('HGET', base .. 'metrics:completed', 'count') or '0'),
  tonumber(redis.call('HGET', base .. 'metrics:failed', 'count') or '0'),
  laned, redis.pcall('HGET', base .. 'meta', 'paused') and 1 or 0,
  redis.call('ZRANGE', base .. 'pending', 0, 0)[1] or '', first_score('schedule'), first_score('active'), server_ms(),
}
