-- depot/take v1: take the next parcel and count it for a courier.
-- keys: waiting(rw) carried(w)
-- args: ttl(carried)
-- returns: the parcel | nil when none waits
-- repeat: unsafe
local parcel = redis.call('LPOP', KEYS[1])
if not parcel then
  return nil
end
redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[1], 'NX')
return parcel
