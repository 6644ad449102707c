-- requeue_many: give many dead jobs all their attempts again, each judged for itself.
--
-- FLAGS      allow-oom
-- USES       wake lane waiting bury retained requeue
-- KEYS[1]    dead      zset    emq:{q}:dead
-- KEYS[2]    pending   zset    emq:{q}:pending
-- KEYS[3]    base      prefix  emq:{q}:
-- KEYS[4]?   wake      list    emq:{q}:wake, when workers shall be told
-- ARGV[1]    label     text    unique to this call, so that a resend is known
-- ARGV[2..]  ids       text    the jobs
--
-- REPLY  [1, 0, -1]  an item each: waiting again (a resend hears it too), not dead or not readable, gone
local dead, pending, base, wake, label, ids = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV
local verdicts, woken = {}, 0
check_sets(dead, pending)
for i = 2, #ids do
  local read, verdict, flat = pcall(requeue_dead, base .. 'job:' .. ids[i], dead, pending, base, ids[i], label)
  if not read then
    verdict = 0
  elseif not verdict then
    verdict = string.find(flat, 'EMQSTALE', 1, true) and 1 or 0
  elseif flat then
    woken = woken + flat
  end
  verdicts[i - 1] = verdict
end
push_wake(wake, woken)
return verdicts
