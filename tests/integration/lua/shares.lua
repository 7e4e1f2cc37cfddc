-- Three parts of the same work: called directly, in a coroutine, and from C. Half of the first is in
-- a function that has no name.
local units = tonumber(arg and arg[1]) or 300
local function work(n)
  local s = 0
  for i = 1, n do s = s + i % 7 end
  return s
end
local function direct()
  work(20000)
  return (function() return (work(20000)) end)()
end
local function produce()
  for _ = 1, 10 do coroutine.yield((work(4000))) end
end
local function in_coroutine()
  for _ in coroutine.wrap(produce) do end
  return 0
end
local function compare(a, b)
  work(20000 / 1)
  return a < b
end
local function from_c()
  table.sort({2, 1}, compare)
  return 0
end
for i = 1, units do
  direct()
  in_coroutine()
  from_c()
end
