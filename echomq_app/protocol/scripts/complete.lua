-- complete: finish a job that the caller still holds.
--
-- FLAGS    allow-oom
-- USES     clock whole wake lane holder place retained flow row finish
-- KEYS[1]  active      zset    emq:{q}:active
-- KEYS[2]  row         hash    emq:{q}:job:<id>
-- KEYS[3]  base        prefix  emq:{q}:
-- ARGV[1]  id          text    the job's id
-- ARGV[2]  token       int     the fencing token that the claim handed out
-- ARGV[3]? label       text    the claim's label, '' for none
-- ARGV[4]? mark        text    the payload's nonce or hash
-- ARGV[5]? receipt_ms  int     leave a receipt for so long; 0 or absent: nothing remains
-- ARGV[6]? result      bytes   what a flow's parent is told, instead of the id
--
-- REPLY  1           finished
-- REPLY  0           gone: there is no such job
-- ERROR  EMQSTALE    the caller does not hold the job
-- ERROR  ERR         the receipt's time is not a whole number
local active, row, base = KEYS[1], KEYS[2], KEYS[3]
local id, token, label, mark, receipt_ms = ARGV[1], ARGV[2], ARGV[3] or '', ARGV[4], whole(ARGV[5] or '0', 0)
if not receipt_ms then return redis.error_reply('ERR complete takes a receipt of whole milliseconds') end
local job, why = finish(active, row, base, id, token, label, ARGV[6] or id)
if why == 'gone' then return 0 end
if not job then return refuse(why) end
if receipt_ms > 0 then
  local now = server_ms()
  keep_receipt(base, id, receipt_line(mark, token, now + receipt_ms, label), now + receipt_ms, now)
end
return 1
