-- Three parts of work: called directly, in a coroutine, and from C.
local units = tonumber(arg and arg[1]) or 300
local function work(n)
  local s = 0
  for i = 1, n do s = s + i % 7 end
  return s
end
local function direct()
  work(20000)
  local result = work(20000)
  return result
end
local function produce()
  for _ = 1, 10 do coroutine.yield((work(4000))) end
end
local function in_coroutine()
  for _ in coroutine.wrap(function() produce() end) do end
  return 0
end
local function compare(a, b)
  work(20000)
  return a < b
end
local function from_c()
  table.sort({2, 1}, function(a, b) local less = compare(a, b) return less end)
  return 0
end
for i = 1, units do
  direct()
  in_coroutine()
  from_c()
end
