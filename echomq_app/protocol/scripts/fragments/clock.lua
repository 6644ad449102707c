-- Server milliseconds since 1970. Call it once a script: Redis 7.0 does not freeze TIME inside one.
local function server_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
