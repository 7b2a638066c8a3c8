local RANK = {critical = 0, high = 1, medium = 2, low = 3}

-- A task's line in its roster: status|priority|progress|agent|attempt. What somebody has typed into a record stays there; a line
-- says what can be read of it.
local function task_line(status, priority, progress, agent, attempt)
  if not RANK[priority] then priority = 'medium' end
  if not (progress and string.find(progress, '^%d+%.?%d*$')) then progress = '0' end
  if not (attempt and string.find(attempt, '^%d+$')) then attempt = '0' end
  return status .. '|' .. priority .. '|' .. progress .. '|' .. string.gsub(agent or '', '|', '_') .. '|' .. attempt
end

-- Its place among those that can be claimed: urgent first, then oldest.
local function place_of(priority, created)
  return string.format('%.0f', (RANK[priority] or 2) * 1e13 + created)
end
