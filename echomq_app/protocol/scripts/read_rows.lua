-- read_rows: the rows of a page, payloads and errors cut short.
--
-- FLAGS      no-writes
-- USES       whole
-- KEYS[1]    base      prefix  emq:{q}:
-- ARGV[1]    cut       int     bytes of payload and error to answer
-- ARGV[2..]  ids       text    the jobs
--
-- REPLY  [rows]      an item each: state, attempts, payload, last_error, group, worker, claimed_at, excused, lapses,
--                    progress, payload bytes, result (the first bytes of what an ended job left); '' for what is not there
-- ERROR  ERR         the cut is not a whole number
local base, cut, ids = KEYS[1], whole(ARGV[1], 0), ARGV
if not cut then return redis.error_reply('ERR read_rows takes a whole number of bytes') end
local items = {}
for i = 2, #ids do
  local row = base .. 'job:' .. ids[i]
  local fields = redis.pcall('HMGET', row, 'state', 'attempts', 'payload', 'last_error', 'group', 'worker',
    'claimed_at', 'excused', 'lapses', 'progress')
  local item = {}
  for field = 1, 10 do item[field] = not fields.err and fields[field] or '' end
  if fields.err then item[4] = 'the row of this job is not a hash' end
  item[11] = #item[3]
  item[3], item[4] = string.sub(item[3], 1, cut), string.sub(item[4], 1, cut)
  local result = redis.pcall('GETRANGE', base .. 'result:' .. ids[i], 0, cut)
  item[12] = type(result) == 'string' and result or ''
  items[i - 1] = item
end
return items
