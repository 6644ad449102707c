-- rate: say whether the queue is below its ceiling of running jobs.
--
-- FLAGS    no-writes
-- USES     whole ceiling
-- KEYS[1]  meta      hash    emq:{q}:meta
-- KEYS[2]  active    zset    emq:{q}:active
--
-- REPLY  0           below it, or there is none
-- ERROR  EMQRATE     as many jobs run as may
local meta, active = KEYS[1], KEYS[2]
if headroom(meta, active) < 1 then return redis.error_reply('EMQRATE as many jobs run as the queue may run') end
return 0
