-- An input has one spender, but where the chain has brought back one that was given up: then all that are unfinished stand there,
-- and it is free when the last of them is finished. In front stands the one that a block holds, or that was there first.
local function spend(inputs, input, hash, is_in_front)
  local others = redis.call('HGET', inputs, input)
  if others then hash = is_in_front and hash .. ' ' .. others or others .. ' ' .. hash end
  redis.call('HSET', inputs, input, hash)
end

local function release(inputs, input, hash)
  local spenders = redis.call('HGET', inputs, input)
  if spenders == hash then
    redis.call('HDEL', inputs, input)
  elseif spenders then
    local others = {}
    for one in string.gmatch(spenders, '%x+') do
      if one ~= hash then others[#others + 1] = one end
    end
    redis.call('HSET', inputs, input, table.concat(others, ' '))
  end
end
