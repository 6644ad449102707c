-- `dids` tells which deduplication key stands for a job, so that whoever ends the job can let go of the key.
local function release_dedup(base, id)
  local did = redis.pcall('HGET', base .. 'dids', id)
  if type(did) ~= 'string' then return end
  if redis.pcall('GET', base .. 'de:' .. did) == id then redis.call('DEL', base .. 'de:' .. did) end
  redis.call('HDEL', base .. 'dids', id)
end
