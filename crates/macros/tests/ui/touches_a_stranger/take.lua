-- till/take v1: take money.
-- keys: sum(w)
-- args: amount, ttl(sum)
-- returns: the sum
-- repeat: unsafe
redis.call('DEL', 'till:lock')
local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return sum
