-- Tell parked workers that `count` jobs can be claimed. A wrong-typed list must not fail what has happened.
local function push_wake(list, count)
  if not list or count < 1 then return end
  local waiting = redis.pcall('LLEN', list)
  if type(waiting) ~= 'number' or waiting >= 64 then return end
  local tokens = {}
  for i = 1, math.min(count, 64 - waiting) do tokens[i] = '1' end
  redis.pcall('LPUSH', list, unpack(tokens))
end
