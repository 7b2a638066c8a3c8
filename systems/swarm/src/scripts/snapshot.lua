-- swarm/snapshot v1: what has changed since a number, as of one moment; unless something has that is not among the records given.
-- keys: swarm(r) dirty(r) agent(r)... blob(r)... consensus(r)... memory(r)... phase(r)... task(r)...
-- args: since, most_read, names...
-- returns: {"ok", newest number, header, name, record, name, record ...}, header and records as lists of fields and values
--   | {"again", names that are missing...} | {"many", newest number} | {"all", newest number}

-- names: of each record its name, in the order of the keys.
local call = redis.call
local newest = call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2] or '0'
local marks = call('ZRANGE', KEYS[2], '(' .. ARGV[1], '+inf', 'BYSCORE')
if #marks > ARGV[2] + 0 then return {'many', newest} end
local place_of = {}
for i = 3, #ARGV do
  place_of[ARGV[i]] = i
end
local missing = {'again'}
for _, name in ipairs(marks) do
  if name == 'all' then return {'all', newest} end
  if name ~= 'header' and not place_of[name] then missing[#missing + 1] = name end
end
if #missing > 1 then return missing end

local found = {'ok', newest, call('HGETALL', KEYS[1])}
for _, name in ipairs(marks) do
  if name ~= 'header' then
    found[#found + 1] = name
    found[#found + 1] = call('HGETALL', KEYS[place_of[name]])
  end
end
return found
