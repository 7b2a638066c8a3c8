local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- RFC 3339 in UTC, from milliseconds. Without calls: they cost more than the arithmetic.
local function rfc3339(millis)
  local seconds = (millis - millis % 1000) / 1000
  local rest = seconds % 86400
  local days = (seconds - rest) / 86400 + 719468
  local of_era = days % 146097
  local era = (days - of_era) / 146097
  local leaps = (of_era - of_era % 1460) / 1460 - (of_era - of_era % 36524) / 36524 + (of_era - of_era % 146096) / 146096
  local years = of_era - leaps
  years = (years - years % 365) / 365
  local day = of_era - (365 * years + (years - years % 4) / 4 - (years - years % 100) / 100)
  local month = 5 * day + 2
  month = (month - month % 153) / 153
  local before = 153 * month + 2
  day = day - (before - before % 5) / 5 + 1
  if month < 10 then month = month + 3 else month = month - 9 end
  if month <= 2 then years = years + 1 end
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', years + era * 400, month, day, (rest - rest % 3600) / 3600,
    (rest % 3600 - rest % 60) / 60, rest % 60, millis % 1000)
end

-- Redis writes numbers from Lua in 17 digits, which is enough; texts are cheaper where one is needed anyway.
local function text(number)
  return string.format('%.0f', number)
end
