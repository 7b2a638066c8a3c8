-- depot/change v1: change fields of a job against the version that the caller has seen.
-- keys: job(rw keep)
-- args: expected, fields...
-- returns: {"ok", version} | {"conflict", version}
-- repeat: unsafe

local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= ARGV[1] then
  return { 'conflict', version }
end
for i = 2, #ARGV, 1000 do
  local last = math.min(i + 999, #ARGV)
  redis.call('HSET', KEYS[1], unpack(ARGV, i, last))
end
return { 'ok', redis.call('HINCRBY', KEYS[1], 'version', 1) }
