-- heartbeat/beat v1: write what a worker says of itself, and the server's time beside it.
-- keys: record(w)
-- args: field, format, most, ttl(record), said...
-- returns: the time as written | nil when the contract does not allow so many fields
-- repeat: safe

-- The day of the Gregorian calendar, from days since 1970: Howard Hinnant's civil_from_days, whole numbers throughout.
local function date(days)
  local shifted = days + 719468
  local era = math.floor(shifted / 146097)
  local day_of_era = shifted - era * 146097
  local year_of_era = math.floor((day_of_era - math.floor(day_of_era / 1460) + math.floor(day_of_era / 36524)
    - math.floor(day_of_era / 146096)) / 365)
  local day_of_year = day_of_era - (365 * year_of_era + math.floor(year_of_era / 4) - math.floor(year_of_era / 100))
  local month_from_march = math.floor((5 * day_of_year + 2) / 153)
  local day = day_of_year - math.floor((153 * month_from_march + 2) / 5) + 1
  local year, month = year_of_era + era * 400, month_from_march + 3
  if month > 12 then
    year, month = year + 1, month - 12
  end
  return string.format('%04d-%02d-%02d', year, month, day)
end

local clock = redis.call('TIME')
local seconds, micros = tonumber(clock[1]), tonumber(clock[2])
local format, time = ARGV[2], nil
if format == 'unix_s' then
  time = string.format('%.0f', seconds)
elseif format == 'unix_ms' then
  time = string.format('%.0f', seconds * 1000 + math.floor(micros / 1000))
elseif format == 'unix_us' then
  time = string.format('%.0f', seconds * 1000000 + micros)
else
  local days = math.floor(seconds / 86400)
  local rest = seconds - days * 86400
  time = date(days)
    .. string.format('T%02d:%02d:%02d', math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60)
  if format == 'rfc3339ms' then
    time = time .. string.format('.%03d', math.floor(micros / 1000))
  end
  time = time .. 'Z'
end

local most = tonumber(ARGV[3])
if most > 0 then
  local counted = {[ARGV[1]] = true}
  local fields = redis.call('HLEN', KEYS[1]) + 1 - redis.call('HEXISTS', KEYS[1], ARGV[1])
  for i = 5, #ARGV, 2 do
    if not counted[ARGV[i]] then
      counted[ARGV[i]] = true
      fields = fields + 1 - redis.call('HEXISTS', KEYS[1], ARGV[i])
    end
  end
  if fields > most then
    return false
  end
end
for i = 5, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
-- Last, so that the time is the server's whatever the worker says.
redis.call('HSET', KEYS[1], ARGV[1], time)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return time
