-- depot/show_board v1: put the new board in the place of the old one.
-- keys: board_new(rw keep) board(rw)
-- args: none
-- returns: 1 | 0 without a new board
-- repeat: safe

local from, to = KEYS[1], KEYS[2]
local shown = redis.call('HLEN', from) > 0 and from or to
if redis.call('EXISTS', shown) == 0 or shown == to then
  return 0
end
redis.call('RENAME', from, to)
redis.call('PERSIST', to)
return 1
