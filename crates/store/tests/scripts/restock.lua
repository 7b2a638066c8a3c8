-- parts/restock v1: add parts to a bin and note the move.
-- keys: stock(w) moves(w)
-- args: parts, who, ttl(stock), ttl(moves)
-- returns: parts in the bin
-- repeat: unsafe
local parts = redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3], 'NX')
local now = redis.call('TIME')
redis.call('ZADD', KEYS[2], now[1] * 1000 + math.floor(now[2] / 1000), ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return parts
