-- obliterate: let everything of a paused queue go, at most so many jobs and lanes a call.
--
-- FLAGS    allow-oom
-- USES     whole bury retained dedup row wipe known_lanes obliterate
-- KEYS[1]  meta    hash    emq:{q}:meta
-- KEYS[2]  base    prefix  emq:{q}:
-- ARGV[1]? force   flag    1: jobs that run go too
-- ARGV[2]? budget  int     at most so many go in this call, 1 to 5000; absent: 1000
--
-- REPLY  1         more is left: call again
-- REPLY  0         nothing is left, or nothing was there
-- ERROR  EMQSTATE  the queue is not paused, or jobs of it run
-- ERROR  ERR       the budget is not a whole number from 1 to 5000
local meta, base = KEYS[1], KEYS[2]
local force, budget = ARGV[1] == '1', whole(ARGV[2] or '1000', 1)
if not budget or budget > 5000 then
  return redis.error_reply('ERR obliterate takes a whole budget of 1 to 5000')
end
check_queue(base)
local paused = redis.call('HGET', meta, 'paused')
if not paused and redis.call('EXISTS', unpack(books_of(base))) == 0 then return 0 end
if not paused then
  return redis.error_reply('EMQSTATE not paused: pause the queue before it is obliterated')
end
if not force and redis.call('ZCARD', base .. 'active') > 0 then
  return redis.error_reply('EMQSTATE active: jobs of the queue run; let them end, or force it')
end
local left = obliterate_jobs(base, budget)
left = obliterate_lanes(base, left)
left = obliterate_lists(base, left)
if left < 1 then return 1 end
redis.call('UNLINK', unpack(books_of(base)))
return 0
