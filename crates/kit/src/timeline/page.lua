-- timeline/page v1: the members behind a cursor, which is a score and a member and need not be there any longer.
-- keys: timeline(r)
-- args: unit, lasts, newest_first, limit, score, member
-- returns: {1 when there are more, {member, score, …}}, the oldest first

-- By bytes, as a ZSET has them: Lua's own `<` follows the locale of the server.
local function is_before(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = string.byte(one, i), string.byte(other, i)
    if a ~= b then
      return a < b
    end
  end
  return #one < #other
end

-- How many are before the cursor; with `through` the cursor's own as well. Halves the members of its score, of which
-- there may be many.
local function rank(score, member, through)
  local low = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. score)
  local high = redis.call('ZCOUNT', KEYS[1], '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = redis.call('ZRANGE', KEYS[1], middle, middle)[1]
    if is_before(found, member) or (through and found == member) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local clock = redis.call('TIME')
local now = math.floor((clock[1] * 1000000 + clock[2]) / ARGV[1])
-- What is too old is not shown, whether it was pruned or not.
local first = redis.call('ZCOUNT', KEYS[1], '-inf', string.format('(%.0f', now - ARGV[2]))
local last = redis.call('ZCARD', KEYS[1]) - 1
local limit = tonumber(ARGV[4])
local from, to
if ARGV[3] == '1' then
  to = last
  if ARGV[5] ~= '' then
    to = rank(ARGV[5], ARGV[6], false) - 1
  end
  from = math.max(first, to - limit + 1)
else
  from = first
  if ARGV[5] ~= '' then
    from = math.max(first, rank(ARGV[5], ARGV[6], true))
  end
  to = math.min(last, from + limit - 1)
end
if from > to then
  return {0, {}}
end
local more = 0
if (ARGV[3] == '1' and from > first) or (ARGV[3] ~= '1' and to < last) then
  more = 1
end
return {more, redis.call('ZRANGE', KEYS[1], from, to, 'WITHSCORES')}
