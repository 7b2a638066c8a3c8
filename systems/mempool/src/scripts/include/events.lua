local function now()
  return redis.call('TIME')[1]
end

-- The server numbers the events, without gaps: a reader that sees 41 and then 44 knows what it missed. At least `most` are kept:
-- trimming a full log to the entry costs twice as much as all the rest of XADD. Without a chain there is no height.
local function tell(log, most, hash, stage, from, version, height, reason, by, at)
  local why = reason .. ' ' .. version .. ' ' .. at .. ' ' .. by .. ' ' .. from
  if height ~= '' then why = why .. ' ' .. height end
  redis.call('XADD', log, 'MAXLEN', '~', most, '0-*', 'hash', hash, 'stage', stage, 'why', why)
end
