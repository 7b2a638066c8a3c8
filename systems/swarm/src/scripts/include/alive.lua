-- Whatever happens in a swarm keeps it alive, up to its horizon. Once in a second is enough for that, and for the index of
-- activity, which counts in seconds. The word `near` if the horizon is: whoever made the change then draws the next one.
local function keep_alive(swarm, outbox, life, lasts, index, id)
  -- What is written now may be missed by whoever is drawing the next horizon: it lives as far as that can be.
  local is_until = horizon
  horizon = now + 2 * life
  if redis.call('PTTL', swarm) > life - 1000 and is_until then return '' end
  if not is_until then
    is_until = horizon
    redis.call('HSET', swarm, 'horizon', horizon)
  end
  redis.call('HSET', swarm, 'updatedAt', rfc3339(now))
  local left = is_until - now
  if left >= life + 0 then
    redis.call('PEXPIRE', swarm, life)
  else
    redis.call('PEXPIREAT', swarm, is_until)
  end
  -- The index lists who has not finished.
  if status ~= 'completed' and status ~= 'failed' then
    redis.call('XADD', outbox, '*', 'index', index, 'op', 'enter', 'member', id, 'score', clock[1])
  end
  redis.call('PEXPIRE', outbox, lasts)
  return left < 1.5 * life and 'near' or ''
end
