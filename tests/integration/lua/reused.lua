-- Two functions of one source and line, each compiled 500 times: most have the address of a dead one.
local function make(i)
  local name, body = "even", "local x = 1 return x"
  if i > 500 then name, body = "odd", "local y = 2 return y" end
  return load("local t = {} t." .. name .. " = function() " .. body .. " end return t", "=tpl")()
end
for i = 1, 1000 do
  local t = make(i)
  if i <= 500 then t.even() else t.odd() end
  t = nil
  collectgarbage()
end
