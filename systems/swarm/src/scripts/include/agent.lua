-- An agent's line in its roster: status|confidence|current task|lease end|role.
local function agent_line(status, confidence, task, lease, role)
  return status .. '|' .. (confidence or '0') .. '|' .. (task or '') .. '|' .. (lease or '') .. '|' .. (role or '')
end

-- The roster that lists it: the plain one has the first thousand, then come the shards, `count` of them behind `before`. None if
-- that is not enough: then the script says how many it needs, before it writes anything.
local function roster_of(shard, plain, before, count)
  if (shard or '0') == '0' then return plain end
  if shard + 0 <= count + 0 then return KEYS[before + shard] end
end
