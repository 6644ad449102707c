-- requeue: give a dead job all its attempts again.
--
-- FLAGS    allow-oom
-- USES     wake lane waiting retained requeue
-- KEYS[1]  row       hash    emq:{q}:job:<id>
-- KEYS[2]  dead      zset    emq:{q}:dead
-- KEYS[3]  pending   zset    emq:{q}:pending
-- KEYS[4]  base      prefix  emq:{q}:
-- KEYS[5]? wake      list    emq:{q}:wake, when workers shall be told
-- ARGV[1]  id        text    the job's id
-- ARGV[2]? label     text    unique to this call, so that a resend is known
--
-- REPLY  1           waiting again
-- REPLY  -1          gone: there is no such job
-- ERROR  EMQSTATE    the job is not dead
-- ERROR  EMQSTALE    parked: this very call has happened already
local row, dead, pending, base, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local verdict, flat = requeue_dead(row, dead, pending, base, ARGV[1], ARGV[2] or '')
if not verdict then return redis.error_reply(flat) end
push_wake(wake, flat or 0)
return verdict
