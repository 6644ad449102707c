-- trim: forget the receipts and outcomes whose time is over.
--
-- FLAGS    allow-oom
-- USES     clock whole retained
-- KEYS[1]  base      prefix  emq:{q}:
-- ARGV[1]  limit     int     at most so many
--
-- REPLY  n           how many were forgotten
-- ERROR  ERR         the limit is not a whole number above zero
local base, limit = KEYS[1], whole(ARGV[1], 1)
if not limit then return redis.error_reply('ERR trim takes a whole limit above zero') end
return trim_retained(base, limit, server_ms())
