-- record/stretch v1: make some children live until the new horizon. One that would live longer is left alone.
-- keys: record(r) child_hash(w)... child_string(w)... child_list(w)... child_set(w)... child_zset(w)...
--   child_stream(w)...
-- args: horizon
-- returns: 1 | 0 when the record is gone
-- repeat: safe

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
for i = 2, #KEYS do
  redis.call('PEXPIREAT', KEYS[i], ARGV[1], 'GT')
end
return 1
