-- parts/close v1: close an order and start the end of its receipt.
-- keys: order(rw) receipt(rw)
-- args: text, ttl(order), ttl(receipt)
-- returns: "closed" | "none" when there is no such order
-- repeat: safe
local order, receipt = KEYS[1], KEYS[2]
if redis.call('EXISTS', order) == 0 then
  return 'none'
end
redis.call('HSET', order, 'state', 'closed')
redis.call('PEXPIRE', order, ARGV[2])
if redis.call('STRLEN', receipt) == 0 then
  redis.call('SET', receipt, ARGV[1], 'PX', ARGV[3])
else
  redis.call('PEXPIRE', receipt, ARGV[3])
end
return 'closed'
