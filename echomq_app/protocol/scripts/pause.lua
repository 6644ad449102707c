-- pause: stop every claim on the queue. Safe to repeat.
--
-- FLAGS    allow-oom
-- KEYS[1]  meta      hash    emq:{q}:meta
--
-- REPLY  1           paused now
-- REPLY  0           it was paused already
local meta = KEYS[1]
return redis.call('HSETNX', meta, 'paused', '1')
