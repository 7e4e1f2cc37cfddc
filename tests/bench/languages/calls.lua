-- calls.lua call|resume N [HOOK]: prints the CPU time (ns) of a call and return, or of a resume and
-- yield. HOOK: a library that sets an empty hook.
local what, n, hook = arg[1], tonumber(arg[2]), arg[3]
if hook then
  assert(package.loadlib(hook, "set_empty_hook"))()
end
local function empty() end
local yield = coroutine.yield
local function body()
  if hook then
    package.loadlib(hook, "set_empty_hook")()
  end
  while true do
    yield()
  end
end
local resume, thread = coroutine.resume, coroutine.create(body)
resume(thread)
local start = os.clock()
if what == "call" then
  for _ = 1, n do
    empty()
  end
else
  for _ = 1, n do
    resume(thread)
  end
end
print((os.clock() - start) / n * 1e9)
