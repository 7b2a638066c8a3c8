-- The id behind another: the time, which never goes back, and a number that counts the events. A reader that sees 41 and then
-- 44 knows what it missed.
local function id_after(last, ms)
  local before, number = string.match(last or '', '^(%d+)-(%d+)$')
  return string.format('%.0f-%.0f', math.max(ms, tonumber(before) or 0), (tonumber(number) or 0) + 1)
end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function tell(log, most, id, hash, stage, from, version, height, reason, by)
  redis.call('XADD', log, 'MAXLEN', most, id, 'hash', hash, 'stage', stage, 'from', from, 'version', version,
    'height', height, 'reason', reason, 'by', by)
end
