-- What tells two payloads apart: the nonce that our producers put in `meta`, else a hash (decision 8).
local function payload_mark(payload)
  local read, decoded = pcall(cjson.decode, payload)
  local meta = read and type(decoded) == 'table' and decoded.meta
  local nonce = type(meta) == 'table' and meta.nonce
  if type(nonce) == 'string' and string.find(nonce, '^[%w_-]+$') then return nonce end
  return redis.sha1hex(payload)
end
