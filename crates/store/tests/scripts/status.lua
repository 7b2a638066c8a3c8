-- parts/status v1: state and number of lines of an order.
-- keys: order(r) lines(r)
-- args: none
-- returns: {state or nil, lines}
return { redis.call('HGET', KEYS[1], 'state'), redis.call('LLEN', KEYS[2]) }
