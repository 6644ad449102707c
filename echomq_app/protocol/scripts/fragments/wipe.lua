-- Let a job go: its row, all that hangs on the row, and the deduplication key that stands for it.
local function wipe_job(base, id)
  local row = base .. 'job:' .. id
  release_dedup(base, id)
  drop_row(row)
  redis.call('DEL', row .. ':lock')
end
