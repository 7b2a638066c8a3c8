-- mempool/pulse v1: how the pool is, at one moment.
-- keys: pending(r) inflight(r) finalized(r) received(r) watcher_lock(r) watcher_lock_fence(r) watcher_lock_transitions(r)
-- args: none
-- returns: {now, pending, inflight, finalized, oldest pending, watcher, left of its lock, fence, terms}; times in ms

local call = redis.call
local time = call('TIME')
local first = call('LINDEX', KEYS[1], 0)
local oldest = false
if first then
  local hash = {}
  for i = 1, #first do
    hash[i] = string.format('%02x', string.byte(first, i))
  end
  oldest = call('ZSCORE', KEYS[4], table.concat(hash))
end
return {
  string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)),
  call('LLEN', KEYS[1]),
  call('HLEN', KEYS[2]),
  call('ZCARD', KEYS[3]),
  oldest,
  call('GET', KEYS[5]),
  call('PTTL', KEYS[5]),
  call('GET', KEYS[6]),
  call('GET', KEYS[7]),
}
