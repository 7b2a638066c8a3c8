-- record/begin_stretch v1: how far the children of a record are to live. Whoever is born later lives as long by itself.
-- keys: record(r)
-- args: millis
-- returns: the new horizon in Unix milliseconds | 0 when there is no such record

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000) + 2 * tonumber(ARGV[1])
