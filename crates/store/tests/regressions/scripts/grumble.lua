-- shelf/grumble v1: count, and answer with an error in the words of the caller.
-- keys: tally(w)
-- args: words, ttl(tally)
-- returns: never; the error is words
-- repeat: unsafe
redis.call('INCRBY', KEYS[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2], 'NX')
return redis.error_reply(ARGV[1])
