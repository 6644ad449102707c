-- requeue_many: give many dead jobs all their attempts again, each judged for itself.
--
-- FLAGS      allow-oom
-- USES       wake lane waiting retained requeue
-- KEYS[1]    dead      zset    emq:{q}:dead
-- KEYS[2]    pending   zset    emq:{q}:pending
-- KEYS[3]    base      prefix  emq:{q}:
-- KEYS[4]    wake      list    emq:{q}:wake
-- ARGV[1]    label     text    unique to this call, so that a resend is known
-- ARGV[2..]  ids       text    the jobs
--
-- REPLY  [1, 0, -1]  an item each: waiting again (a resend hears it too), not dead or not readable, gone
local dead, pending, base, wake, label, ids = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV
local verdicts, woken = {}, 0
for i = 2, #ids do
  local row = base .. 'job:' .. ids[i]
  local verdict, flat = 0, nil
  if type(redis.pcall('HGET', row, 'attempts')) ~= 'table' then
    verdict, flat = requeue_dead(row, dead, pending, base, ids[i], label)
    if not verdict then verdict = string.find(flat, 'EMQSTALE', 1, true) and 1 or 0 end
    if type(flat) == 'number' then woken = woken + flat end
  end
  verdicts[i - 1] = verdict
end
push_wake(wake, woken)
return verdicts
