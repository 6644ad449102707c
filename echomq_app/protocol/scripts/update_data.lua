-- update_data: replace the payload of a job that nobody runs.
--
-- FLAGS    none
-- KEYS[1]  row       hash    emq:{q}:job:<id>
-- KEYS[2]  active    zset    emq:{q}:active
-- ARGV[1]  id        text    the job's id
-- ARGV[2]  payload   bytes   opaque
--
-- REPLY  1           replaced
-- REPLY  -1          gone: there is no such job
-- ERROR  EMQLOCK     somebody runs the job with the payload that it has
local row, active, id, payload = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if redis.call('EXISTS', row) == 0 then return -1 end
if redis.call('ZSCORE', active, id) then
  return redis.error_reply('EMQLOCK somebody runs the job with the payload that it has')
end
redis.call('HSET', row, 'payload', payload)
return 1
