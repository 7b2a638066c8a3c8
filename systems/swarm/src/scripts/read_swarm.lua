-- swarm/read_swarm v1: the header and the rosters as of one moment.
-- keys: swarm(r) roster(r) task_roster(r) roster_shard(r)... task_roster_shard(r)...
-- args: none
-- returns: {time in Unix milliseconds, header, roster, task roster, each shard in order}, each a list of fields and values

local clock = redis.call('TIME')
local found = {clock[1] * 1000 + math.floor(clock[2] / 1000)}
for i = 1, #KEYS do
  found[i + 1] = redis.call('HGETALL', KEYS[i])
end
return found
