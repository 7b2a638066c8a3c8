-- mempool/dump_finalized v1: a page of finished transactions, and up to where entries were trimmed.
-- keys: finalized(r) stats(r)
-- args: cursor, count
-- returns: {trimmed_to, {entry, seq, ...}}

local page = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
return {redis.call('HGET', KEYS[2], 'trimmed_to'), page}
