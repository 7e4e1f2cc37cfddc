-- Functions that LuaJIT compiles into their callers, calls through C and coroutines, tail calls,
-- methods, and errors. Prints its results.
local function inner(n)
  local s = 0
  for i = 1, 100 do
    s = s + (n * i) % 7
  end
  return s
end

local function middle(n)
  return inner(n) + 1
end

local function outer(n)
  local s = 0
  for i = 1, n do
    s = s + middle(i)
  end
  return s
end

local function last(n)
  local s = 0
  for i = 1, n do
    s = s + math.sin(i)
  end
  return s
end

local function first(n)
  return last(n) -- a tail call: `last` has no other name
end

local Shape = {}
Shape.__index = Shape
function Shape:area()
  return self.a * self.b
end

local function methods(n)
  local s = 0
  for i = 1, n do
    s = s + setmetatable({ a = i, b = 2 }, Shape):area()
  end
  return s
end

local function sort(n)
  local t = {}
  for i = 1, n do
    t[i] = (i * 7919) % n
  end
  local function less(a, b)
    return a < b
  end
  table.sort(t, less)
  return t[1]
end

local function produce(n)
  for i = 1, n do
    coroutine.yield(inner(i))
  end
end

local function consume(n)
  local s, next = 0, coroutine.wrap(produce)
  for _ = 1, n do
    s = s + next(n)
  end
  return s
end

local function fail(n)
  local count = 0
  for i = 1, n do
    local ok = pcall(function()
      error(i)
    end)
    count = count + (ok and 0 or 1)
  end
  return count
end

local function deep(n)
  if n == 0 then
    return inner(1)
  end
  return 1 + deep(n - 1)
end

function work(scale)
  print(outer(300000 * scale), first(1000000 * scale), methods(1000000 * scale))
  print(sort(100000 * scale), consume(50000 * scale), fail(20000 * scale), deep(5000))
end

work(tonumber(arg[1]))
error("the end")
