-- Who may settle (decision 4). Answers the row's facts, or nil and the word for the refusal.
local function read_holder(row, token, label, verb)
  local fields = redis.call('HMGET', row, 'attempts', 'worker', 'settled', 'group', 'excused',
    'parent', 'parent_queue', 'parent_policy')
  if not fields[1] then return nil, 'gone' end
  if not string.find(token, '^[1-9]%d*$') or fields[1] ~= token then return nil, 'token' end
  local settled = fields[3]
  if settled and string.sub(settled, 1, #token + 1) == token .. ' ' then
    return nil, settled == token .. ' ' .. verb .. ' ' .. label and 'parked' or 'token'
  end
  if label ~= '' and fields[2] ~= token .. ' ' .. label then return nil, 'label' end
  return {
    attempts = tonumber(token), group = fields[4], excused = tonumber(fields[5] or '0') or 0,
    parent = fields[6], parent_queue = fields[7], parent_policy = fields[8],
  }
end

local function refuse(why)
  local sentences = {
    gone = 'EMQSTALE gone: there is no such job',
    token = 'EMQSTALE token: another claim holds the job, or none does',
    label = 'EMQSTALE label: the token was handed to another claim',
    place = 'EMQSTALE place: the job is not where its holder left it',
    parked = 'EMQSTALE parked: this very settle has happened already',
  }
  return redis.error_reply(sentences[why])
end
