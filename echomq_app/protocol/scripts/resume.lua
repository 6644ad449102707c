-- resume: let claims on the queue go on, and wake workers for what waits. Safe to repeat.
--
-- FLAGS    allow-oom
-- USES     wake
-- KEYS[1]  meta      hash    emq:{q}:meta
-- KEYS[2]  pending   zset    emq:{q}:pending
-- KEYS[3]  wake      list    emq:{q}:wake
--
-- REPLY  1           resumed now
-- REPLY  0           it was not paused
local meta, pending, wake = KEYS[1], KEYS[2], KEYS[3]
local waiting = redis.call('ZCARD', pending)
local resumed = redis.call('HDEL', meta, 'paused')
if resumed == 1 then push_wake(wake, waiting) end
return resumed
