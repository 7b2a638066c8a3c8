-- An id is the time, which never goes back, and a number that counts the events: a reader that sees 41 and then 44 knows what
-- it missed. This takes the newest id apart: the time of the next ones, and the number that they follow.
local function newest(id, ms)
  if not id then return ms, 0 end
  local dash = string.find(id, '-', 1, true)
  return math.max(ms, string.sub(id, 1, dash - 1) + 0), string.sub(id, dash + 1) + 0
end

-- Both are whole and below 2^53, and %d writes them at less than half of what %.0f costs.
local function event_id(ms, number)
  return string.format('%d-%d', ms, number)
end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- At least so many are kept: trimming a full log to the entry costs twice as much as all the rest of XADD.
local function tell(log, most, id, hash, stage, from, version, height, reason, by)
  redis.call('XADD', log, 'MAXLEN', '~', most, id, 'hash', hash, 'stage', stage, 'from', from, 'version', version,
    'height', height, 'reason', reason, 'by', by)
end
