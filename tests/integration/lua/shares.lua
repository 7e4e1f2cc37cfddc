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
-- In random order: a unit takes about as long as the period of the samples, which would always fall on one part.
local seed = 1
for i = 1, units do
  seed = seed * 16807 % 2147483647
  if seed % 3 == 0 then
    direct()
    in_coroutine()
    from_c()
  elseif seed % 3 == 1 then
    in_coroutine()
    from_c()
    direct()
  else
    from_c()
    direct()
    in_coroutine()
  end
end
