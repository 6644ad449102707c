-- complete_keep: finish a job that the caller still holds, and keep what came of it.
--
-- It carries no allow-oom: a full server refuses it whole, and the caller completes with a receipt instead.
--
-- FLAGS    none
-- USES     clock whole wake lane holder place retained flow row finish
-- KEYS[1]  active      zset    emq:{q}:active
-- KEYS[2]  row         hash    emq:{q}:job:<id>
-- KEYS[3]  base        prefix  emq:{q}:
-- ARGV[1]  id          text    the job's id
-- ARGV[2]  token       int     the fencing token that the claim handed out
-- ARGV[3]  label       text    the claim's label, '' for none
-- ARGV[4]  mark        text    the payload's nonce or hash
-- ARGV[5]  receipt_ms  int     how long the receipt inside the outcome counts
-- ARGV[6]  result      bytes   what a flow's parent is told
-- ARGV[7]  outcome     bytes   what is kept
-- ARGV[8]  result_ms   int     for how long
-- ARGV[9]  limit       int     how many outcomes the queue keeps
--
-- REPLY  1           finished
-- REPLY  0           gone: there is no such job
-- ERROR  EMQSTALE    the caller does not hold the job
-- ERROR  ERR         a time or the limit is not a whole number
local active, row, base = KEYS[1], KEYS[2], KEYS[3]
local id, token, label, mark, receipt_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], whole(ARGV[5], 0)
local outcome, result_ms, limit = ARGV[7], whole(ARGV[8], 1), whole(ARGV[9], 0)
if not receipt_ms or not result_ms or not limit then
  return redis.error_reply('ERR complete_keep takes whole milliseconds for receipt and outcome, and a whole limit')
end
local job, why = finish(active, row, base, id, token, label, ARGV[6])
if why == 'gone' then return 0 end
if not job then return refuse(why) end
local now = server_ms()
local line = receipt_line(mark, token, now + receipt_ms, label)
keep_outcome(base, id, line, outcome, now + math.max(result_ms, receipt_ms), now)
bound_outcomes(base, limit, now)
return 1
