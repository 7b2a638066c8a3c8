-- swarm/due_tasks v1: tasks whose leases have run out, those that have waited longest first.
-- keys: leases(r)
-- args: most
-- returns: the tasks

-- include: clock.lua
-- Agents have their deadlines here too, and one that never came back must not hide a task.
local found = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now))) do
  if #found < ARGV[1] + 0 and string.sub(member, 1, 5) == 'task_' then found[#found + 1] = member end
end
return found
