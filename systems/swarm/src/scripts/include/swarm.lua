-- The swarm that everything here belongs to. Its horizon is until when all its children live for certain; a header that was
-- written by hand has none yet. Once it is known what happens, it stands for until when a child lives that is written now.
local head = redis.call('HMGET', KEYS[1], 'status', 'horizon', 'version')
local status, horizon = head[1], head[2]
if not status then return {'gone'} end
local is_over = status == 'completed' or status == 'failed'
