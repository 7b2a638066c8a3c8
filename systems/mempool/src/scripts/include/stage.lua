-- An entry of `stage`, taken apart: the stage; version, height and detail; and what never changes.
local function read_stage(entry)
  return string.match(entry, '^(%a+) (%d+) (%d+ %S+) (.*)$')
end
