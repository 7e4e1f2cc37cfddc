-- Closures and calls: objects with methods, closures that keep state, recursion, pcall, coroutines.
-- argument: how often.
local times = tonumber(arg[1]) or 1

local Account = {}
Account.__index = Account
function Account.new(balance) return setmetatable({ balance = balance, log = 0 }, Account) end
function Account:deposit(v) self.balance = self.balance + v; self:note(v) return self end
function Account:withdraw(v)
  if v > self.balance then error("funds", 0) end
  self.balance = self.balance - v
  return self:note(-v)
end
function Account:note(v) self.log = self.log + v return self end

local function counter()
  local n = 0
  return function(step) n = n + step return n end
end

local function compose(f, g) return function(...) return f(g(...)) end end
local function map(list, f)
  local out = {}
  for i, v in ipairs(list) do out[i] = f(v) end
  return out
end
local function fold(list, f, zero)
  for _, v in ipairs(list) do zero = f(zero, v) end
  return zero
end
local function ackermann(m, n)
  if m == 0 then return n + 1 end
  if n == 0 then return ackermann(m - 1, 1) end
  return ackermann(m - 1, ackermann(m, n - 1))
end
local function range(from, to)
  return coroutine.wrap(function() for i = from, to do coroutine.yield(i) end end)
end

local total = 0
local add = function(a, b) return a + b end
local twice = compose(function(x) return x * 2 end, function(x) return x + 1 end)
for round = 1, times do
  local account, tick = Account.new(100), counter()
  for i = 1, 300 do
    account:deposit(i)
    local ok = pcall(account.withdraw, account, i * 3 % 700)
    total = total + tick(ok and 1 or 2)
  end
  local list = {}
  for i in range(1, 60) do list[#list + 1] = i end
  total = total + fold(map(map(list, twice), math.abs), add, 0) + ackermann(2, 6) + account.log
  total = total + #tostring(round) + select("#", table.unpack(list))
end
print(string.format("%.0f", total))
