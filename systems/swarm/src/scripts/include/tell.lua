-- What happened, numbered by the server without gaps; the number.
local function tell(events, most, kind, subject, from, to, by, version)
  local id = redis.call('XADD', events, 'MAXLEN', '~', most, '0-*', 'kind', kind, 'subject', subject, 'from', from or '',
    'to', to or '', 'by', by, 'version', version, 'at', text(now))
  if id == '0-1' then redis.call('PEXPIREAT', events, horizon) end
  return string.sub(id, 3)
end

-- What the next checkpoint has to look at, with the number of its last event. When too much has changed since the last
-- checkpoint the mark is not made, and another says that something is missing: the next one has to be a full one.
local function mark(dirty, most, subject, number)
  if redis.call('ZADD', dirty, number, subject) == 1 then
    local marks = redis.call('ZCARD', dirty)
    if marks == 1 then redis.call('PEXPIREAT', dirty, horizon) end
    if marks > most - 1 then
      redis.call('ZREM', dirty, subject)
      redis.call('ZADD', dirty, number, 'all')
    end
  end
end
