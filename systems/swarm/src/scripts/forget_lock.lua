-- swarm/forget_lock v1: remove what a lock keeps beside it, when its swarm is gone and nobody holds it.
-- keys: swarm(r) lock(r) lock_fence(w) lock_transitions(w) lock_wake(w)
-- args: none
-- returns: how many keys went
-- repeat: safe

-- A term that follows is still another: it begins at the server's time.
if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
return redis.call('UNLINK', KEYS[3], KEYS[4], KEYS[5])
