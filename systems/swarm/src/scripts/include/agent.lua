-- An agent's line in its roster: status|confidence|current task|lease end|role.
local function agent_line(status, confidence, task, lease, role)
  return status .. '|' .. (confidence or '0') .. '|' .. (task or '') .. '|' .. (lease or '') .. '|' .. (role or '')
end

-- The roster that lists it: the plain one has the first thousand, then come the shards.
local function roster_of(shard, plain, before)
  if (shard or '0') == '0' then return plain end
  return KEYS[before + shard]
end
