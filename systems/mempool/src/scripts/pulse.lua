-- mempool/pulse v1: how the pool is, at one moment.
-- keys: pending(r) inflight(r) finalized(r) stage(r) stats(r) watcher_lock(r) watcher_lock_fence(r) watcher_lock_transitions(r)
-- args: none
-- returns: {{now, pending, inflight, finalized, entry of the oldest, watcher, ms left of its lock, fence, terms}, totals}

local call = redis.call
-- include: hex.lua

local first = call('LINDEX', KEYS[1], 0)
return {
  {
    call('TIME')[1],
    call('LLEN', KEYS[1]),
    call('HLEN', KEYS[2]),
    call('ZCARD', KEYS[3]),
    first and call('HGET', KEYS[4], hex(first)),
    call('GET', KEYS[6]),
    call('PTTL', KEYS[6]),
    call('GET', KEYS[7]),
    call('GET', KEYS[8]),
  },
  call('HMGET', KEYS[5], 'duplicates', 'conflicts', 'full', 'finalized', 'dropped', 'rolled_back', 'corrected', 'reopened'),
}
