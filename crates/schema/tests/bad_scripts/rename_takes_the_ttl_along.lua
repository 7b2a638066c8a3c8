-- depot/show_board v1: put the new board in the place of the old one.
-- keys: board_new(rw keep) board(rw)
-- args: none
-- returns: 1 | 0
-- repeat: safe

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
redis.call('RENAME', KEYS[1], KEYS[2])
return 1
-- fault: the board would vanish after ten minutes.
