-- Delete the row of a job that has ended and what hangs on it; a foreign worker's marker goes by itself.
local function drop_row(row)
  redis.call('DEL', row, row .. ':logs', row .. ':errors', row .. ':dependencies', row .. ':processed',
    row .. ':failed', row .. ':unsuccessful')
end
