-- swarm/vote v1: cast a validator's vote, or replace it while the round is open.
-- keys: swarm(rw) agent(r) consensus(rw keep) vote_log(w) events(w) dirty(w) swarm_outbox(w)
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, agent_id, round, confidence, verdict, reasoning, quoted,
--   most_fields, most_bytes
-- returns: {"ok", version, near, votes so far} | {"gone"} | {"over", status} | {"unknown"} | {"stranger", type}
--   | {"left", status} | {"closed", status} | {"late", closes at} | {"full", votes} | {"large", bytes, most}
-- repeat: safe

local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
local agent = call('HMGET', KEYS[2], 'type', 'status')
if agent[1] ~= 'validator' then return {'stranger', agent[1] or ''} end
if agent[2] == 'completed' or agent[2] == 'failed' then return {'left', agent[2]} end
-- include: clock.lua
local round, at = call('HMGET', KEYS[3], 'status', 'closesAt', 'version', 'eligible'), rfc3339(now)
if not round[1] then return {'unknown'} end
if round[1] == 'achieved' or round[1] == 'failed' then return {'closed', round[1]} end
if round[2] and at > round[2] then return {'late', round[2]} end

local own, eligible = 'vote:' .. ARGV[7], tonumber(round[4] or '') or 1
local said = '{"agentId":"' .. ARGV[7] .. '","confidence":' .. ARGV[9] .. ',"vote":"' .. ARGV[10] .. '","reasoning":' .. ARGV[12]
  .. ',"timestamp":"' .. at .. '"}'
-- What closing adds, all votes once more among it, must fit too. An absent one counts as 0, and so does one that fails.
local fields, bytes, votes, sum = 4, 1024 + #own + 2 * #said, 1, 0
if ARGV[10] == 'PASS' then sum = sum + ARGV[9] end
local all = call('HGETALL', KEYS[3])
for i = 1, #all, 2 do
  if all[i] ~= own then
    fields, bytes = fields + 1, bytes + #all[i] + #all[i + 1]
    if string.sub(all[i], 1, 5) == 'vote:' then
      votes, bytes = votes + 1, bytes + #all[i + 1]
      local confidence, verdict = string.match(all[i + 1], '"confidence":([%d.eE+-]+),"vote":"(%u+)"')
      if verdict == 'PASS' then sum = sum + confidence end
    end
  end
end
-- Who has voted may still change its mind.
local is_new = call('HEXISTS', KEYS[3], own) == 0
if is_new and (votes > eligible or fields > ARGV[13] + 0) then return {'full', votes - 1} end
if bytes > ARGV[14] + 0 then return {'large', bytes, ARGV[14]} end

-- include: alive.lua
-- include: tell.lua
local near = keep_alive(KEYS[1], KEYS[7], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
call('HSET', KEYS[3], own, said)
local version = text((round[3] or 0) + 1)
call('HSET', KEYS[3], 'status', 'achieving', 'version', version,
  'currentConfidence', string.format('%.6g', sum / math.max(eligible, votes, 1)))
if call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[5], '0-*', 'agentId', ARGV[7], 'confidence', ARGV[9], 'vote', ARGV[10],
  'reasoning', ARGV[11]) == '0-1' then
  call('PEXPIREAT', KEYS[4], horizon)
end
local number = tell(KEYS[5], ARGV[5], 'vote', 'consensus:' .. ARGV[8], round[1], 'achieving', ARGV[6], version)
mark(KEYS[6], ARGV[5], 'consensus:' .. ARGV[8], number)
return {'ok', version, near, votes}
