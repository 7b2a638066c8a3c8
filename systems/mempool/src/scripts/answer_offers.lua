-- mempool/answer_offers v1: what a peer said to offers that the node has claimed for it. Claims that another node has taken over are
--   left to that one.
-- keys: peers(r) claims(rw) refused(rw)
-- args: peer, node, said, again, at_last, ttl(claims), ttl(refused), hashes...
-- returns: number of claims answered
-- repeat: safe

local call = redis.call
if call('HGET', KEYS[1], ARGV[1] .. ':by') ~= ARGV[2] then return 0 end
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- said: `taken`, `refused`, or `nothing`: then whoever comes next offers it. A refused one is offered again: after `again`, after
-- twice that, after four times, then after `at_last`. How often it was refused is the fraction of the score, in quarters.
local count = 0
for i = 8, #ARGV do
  local hash = ARGV[i]
  if call('ZSCORE', KEYS[2], hash) then
    count = count + 1
    if ARGV[3] == 'nothing' then
      call('ZADD', KEYS[2], 0, hash)
    else
      call('ZREM', KEYS[2], hash)
      if ARGV[3] == 'refused' then
        local times = (call('ZSCORE', KEYS[3], hash) or 0) % 1 * 4
        local after = times < 3 and ARGV[4] * 2 ^ times or ARGV[5]
        call('ZADD', KEYS[3], string.format('%.2f', now + after + math.min(times + 1, 3) / 4), hash)
      else
        call('ZREM', KEYS[3], hash)
      end
    end
  end
end
call('PEXPIRE', KEYS[2], ARGV[6])
call('PEXPIRE', KEYS[3], ARGV[7])
return count
