local function hex(raw)
  local digits = {}
  for i = 1, #raw do
    digits[i] = string.format('%02x', string.byte(raw, i))
  end
  return table.concat(digits)
end
