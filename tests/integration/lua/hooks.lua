-- The program has hooks of its own, and sees nobody else's.
print(debug.gethook())
local lines, calls, returns = 0, 0, 0
local function hook(event)
  if event == "line" then lines = lines + 1
  elseif event == "return" then returns = returns + 1
  else calls = calls + 1 end
end
local function work(n) local s = 0 for i = 1, n do s = s + math.abs(i) end return s end
local function tail(n) return work(n) end
debug.sethook(hook, "crl")
work(10)
tail(10)
debug.sethook()
print(lines, calls, returns)
print(debug.gethook())
debug.sethook(hook, "c", 100)
local f, mask, count = debug.gethook()
print(f == hook, mask, count)
debug.sethook()
local ticks = 0
debug.sethook(function() ticks = ticks + 1 end, "", 1000)
work(20000)
debug.sethook()
print(ticks)
local co = coroutine.create(function() work(5) coroutine.yield() work(5) end)
debug.sethook(co, hook, "c")
calls = 0
coroutine.resume(co)
print(debug.gethook(co) == hook, debug.gethook() == nil)
debug.sethook(co)
coroutine.resume(co)
print(calls)
-- The hook of a coroutine ends with it, though others get its address, and a new one has its creator's.
local stale = 0
for i = 1, 40 do
  local dies = coroutine.create(function() work(1) end)
  local _, mask = debug.gethook(dies)
  if mask and mask ~= "" then stale = stale + 1 end
  coroutine.resume(dies)
  debug.sethook(dies, hook, "c")
  dies = nil
  collectgarbage()
end
debug.sethook(hook, "c", 50)
local heir = coroutine.create(work)
debug.sethook()
print(stale, select(2, debug.gethook(heir)))
print(pcall(debug.sethook, 1, 2, 3))
debug.sethook(function() error("from the hook") end, "l")
local ok, message = pcall(function()
  work(1)
end)
debug.sethook()
print(ok, message)
print(os.getenv("LUA_INIT_5_4"), os.getenv("LUA_INIT"))
local function fail() error("uncaught") end
local function middle() fail() end
middle()
