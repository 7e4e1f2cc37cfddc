-- Loops that LuaJIT compiles, and functions of its library that they call.
local function sum(n)
  local s = 0.0
  for i = 1, n do
    s = (s * 1.0000001 + 0.5) % 1000 + i % 7
  end
  return s
end

local function build(n)
  local t = {}
  for i = 1, n do
    t[#t + 1] = tostring(i) .. ":" .. i % 17
  end
  return #table.concat(t, ",")
end

local function fib(n)
  if n < 2 then
    return n
  end
  return fib(n - 1) + fib(n - 2)
end

print(sum(3e7), build(2e5), fib(32))
