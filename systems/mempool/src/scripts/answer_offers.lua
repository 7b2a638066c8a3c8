-- mempool/answer_offers v1: what a peer said to offers that were claimed for it.
-- keys: claims(rw) refused(rw)
-- args: said, again, at_last, ttl(claims), ttl(refused), hashes...
-- returns: number of claims answered
-- repeat: safe

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- said: `taken`, `refused`, or `nothing`: then whoever comes next offers it. A refused one is offered again: after `again`, after
-- twice that, after four times, then after `at_last`. How often it was refused is the fraction of the score, in quarters.
local count = 0
for i = 6, #ARGV do
  local hash = ARGV[i]
  if call('ZSCORE', KEYS[1], hash) then
    count = count + 1
    if ARGV[1] == 'nothing' then
      call('ZADD', KEYS[1], 0, hash)
    else
      call('ZREM', KEYS[1], hash)
      if ARGV[1] == 'refused' then
        local times = (call('ZSCORE', KEYS[2], hash) or 0) % 1 * 4
        local after = times < 3 and ARGV[2] * 2 ^ times or ARGV[3]
        call('ZADD', KEYS[2], string.format('%.2f', now + after + math.min(times + 1, 3) / 4), hash)
      else
        call('ZREM', KEYS[2], hash)
      end
    end
  end
end
call('PEXPIRE', KEYS[1], ARGV[4])
call('PEXPIRE', KEYS[2], ARGV[5])
return count
