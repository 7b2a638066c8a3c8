-- Writes a line into its roster. One that nobody has registered or created is counted now that it is listed.
local function list(roster, id, line, counted)
  if redis.call('HSET', roster, id, line) == 1 then redis.call('HINCRBY', KEYS[1], counted, 1) end
end
