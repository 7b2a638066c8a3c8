-- An agent that no longer works on a task is idle, unless it is paused or has ended. One that works on another by now, or is
-- gone, is left alone.
local function free(agent, id, task, plain, before, count, leases, is_done)
  local had = redis.call('HMGET', agent, 'currentTask', 'confidence', 'role', 'shard', 'version', 'completedTasks', 'status')
  if had[1] ~= task then return end
  local becomes = had[7]
  if becomes ~= 'paused' and becomes ~= 'completed' and becomes ~= 'failed' then becomes = 'idle' end
  redis.call('HDEL', agent, 'currentTask', 'assignedTasks')
  redis.call('HSET', agent, 'status', becomes, 'version', text((had[5] or 0) + 1))
  if is_done then
    local done = had[6] and had[6] ~= '[]' and string.sub(had[6], 1, -2) .. ',' or '['
    -- The newest hundred or more: an agent that works for months stays as small as it was.
    if #done > 8192 then done = '[' .. string.sub(done, (string.find(done, ',', #done - 4096, true) or #done) + 1) end
    redis.call('HSET', agent, 'completedTasks', done .. '"' .. task .. '"]')
  end
  redis.call('HSET', roster_of(had[4], plain, before, count), id,
    agent_line(becomes, had[2], '', redis.call('ZSCORE', leases, id), had[3]))
end
