-- Calls of every kind, each function on a line of its own.
local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end
print(fib(20))
local function loop(n)
  if n == 0 then return "done" end
  return loop(n - 1)
end
print(loop(5000))
local even, odd
function even(n) if n == 0 then return true end return odd(n - 1) end
function odd(n) if n == 0 then return false end return even(n - 1) end
print(even(1001))
local function deep(n)
  if n == 0 then return 0 end
  return 1 + deep(n - 1)
end
print(deep(150000))
-- Errors: caught at every depth, through C, out of a metamethod, and rethrown.
local function fail(n)
  if n == 0 then error("out") end
  fail(n - 1)
end
for i = 1, 50 do pcall(fail, i) end
local function handler(message) return "handled " .. tostring(message):match("out") end
print(select(2, xpcall(fail, handler, 7)))
local function through_sort(a, b) if a == 13 then error("unlucky") end return a < b end
print((pcall(table.sort, {5, 13, 2, 7}, through_sort)))
local function inner() local ok = pcall(fail, 3); error("again") end
local function outer() return pcall(inner) end
print((outer()))
local object = setmetatable({}, {
  __index = function(_, key) return key .. "!" end,
  __add = function(a, b) return 42 end,
  __call = function(self, x) return x + 1 end,
})
print(object.field, object + object, object(4))
local function visit(s) return s:upper() end
print((("abc"):gsub(".", visit)))
local M = {}
function M.method() return 1 end
function M:colon() return self.method() + self.method() end
print(M:colon())
local made = {}
for i = 1, 10 do made[i] = function() return i end end
local sum = 0
for i = 1, 10 do sum = sum + made[i]() end
print(sum)
for i = 1, 30 do load("return " .. i)() end
local ok, message = pcall(load, nil)
print(ok)
local function iterate(_, n) if n < 5 then return n + 1 end end
for _ in iterate, nil, 0 do end
local function variadic(...) return select("#", ...) end
print(variadic(1, 2, nil), (pcall(string.rep)))
collectgarbage()
