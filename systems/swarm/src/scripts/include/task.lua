-- A task's line in its roster: status|priority|progress|agent|attempt.
local function task_line(status, priority, progress, agent, attempt)
  return status .. '|' .. (priority or 'medium') .. '|' .. (progress or '0') .. '|' .. (agent or '') .. '|' .. (attempt or '0')
end

-- Its place among those that can be claimed: urgent first, then oldest.
local RANK = {critical = 0, high = 1, medium = 2, low = 3}
local function place_of(priority, created)
  return string.format('%.0f', (RANK[priority] or 2) * 1e13 + created)
end
