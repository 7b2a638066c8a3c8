-- An agent's line in its roster: status|confidence|current task|lease end|role. What somebody has typed into a record stays there;
-- a line says what can be read of it.
local function agent_line(status, confidence, task, lease, role)
  task = task or ''
  if task ~= '' then task = string.gsub(task, '[^%w_]', '') end
  if status ~= 'idle' and status ~= 'active' and status ~= 'busy' and status ~= 'completed' and status ~= 'failed' and status ~= 'paused' then
    status = task == '' and 'active' or 'busy'
  end
  if not (confidence and string.find(confidence, '^%d+%.?%d*$')) then confidence = '0' end
  if role and string.find(role, '|', 1, true) then role = string.gsub(role, '|', '_') end
  return status .. '|' .. confidence .. '|' .. task .. '|' .. (lease or '') .. '|' .. (role or '')
end

-- The roster that lists it: the plain one has the first thousand, then come the shards, `count` of them behind `before`. None if
-- that is not enough: then the script says how many it needs, before it writes anything.
local function roster_of(shard, plain, before, count)
  if (shard or '0') == '0' then return plain end
  if shard + 0 <= count + 0 then return KEYS[before + shard] end
end
