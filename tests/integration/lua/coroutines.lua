-- Coroutines: many at once, left in the middle, dead by an error, nested, deep.
local function count(n) for i = 1, n do coroutine.yield(i) end return "end" end
local sum = 0
for i in coroutine.wrap(function() count(500) end) do sum = sum + i end
print(sum)
local all = {}
for i = 1, 3000 do
  all[i] = coroutine.create(count)
  coroutine.resume(all[i], 3)
end
for i = 1, 3000 do coroutine.resume(all[i]) end
all = nil
collectgarbage()
local function fails(x) if x > 0 then coroutine.yield(x) end error("dead") end
for i = 0, 500 do
  local c = coroutine.create(fails)
  coroutine.resume(c, i % 2)
  coroutine.resume(c)
end
local function descend(n)
  if n == 0 then coroutine.yield("bottom") return 0 end
  return 1 + descend(n - 1)
end
local c = coroutine.create(descend)
print(coroutine.resume(c, 20000))
print(coroutine.resume(c))
local function nest(n)
  if n == 0 then return 0 end
  return 1 + coroutine.wrap(nest)(n - 1)
end
print(nest(50))
local function consumer(producer)
  local total = 0
  while true do
    local ok, value = coroutine.resume(producer)
    if not value then return total end
    total = total + value
  end
end
local function producer() for i = 1, 100 do coroutine.yield(i) end end
print(consumer(coroutine.create(producer)))
local function protected() return pcall(function() coroutine.yield(1) error("late") end) end
local p = coroutine.wrap(protected)
print(p(), (p()))
