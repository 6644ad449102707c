-- progress: note how far a job has come, and publish it.
--
-- FLAGS    allow-oom
-- KEYS[1]  row       hash    emq:{q}:job:<id>
-- KEYS[2]  base      prefix  emq:{q}:
-- ARGV[1]  id        text    the job's id
-- ARGV[2]  progress  text    free text
--
-- REPLY  1           noted
-- REPLY  -1          gone: there is no such job
local row, base, id, progress = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if redis.call('EXISTS', row) == 0 then return -1 end
redis.call('HSET', row, 'progress', progress)
redis.pcall('PUBLISH', base .. 'events', cjson.encode({ event = 'progress', job = id, progress = progress }))
return 1
