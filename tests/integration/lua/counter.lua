-- counter.lua FILE SCRIPT...: runs the script and writes, for each of its functions, how often Lua
-- told a hook of a call: "LINE CALLS". What an adapter counts has to be the same.
local results, script = arg[1], arg[2]
local counts = {}
local sethook, getinfo = debug.sethook, debug.getinfo
local function count()
  local info = getinfo(2, "S")
  if info.source == "@" .. script then
    counts[info.linedefined] = (counts[info.linedefined] or 0) + 1
  end
end
-- A coroutine has a hook of its own.
local create, wrap = coroutine.create, coroutine.wrap
coroutine.create = function(f)
  local made = create(f)
  sethook(made, count, "c")
  return made
end
coroutine.wrap = function(f)
  local made = coroutine.create(f)
  return function(...)
    local function pass(ok, ...)
      if not ok then error(..., 0) end
      return ...
    end
    return pass(coroutine.resume(made, ...))
  end
end
local function write()
  sethook()
  local out = assert(io.open(results, "w"))
  for line, calls in pairs(counts) do out:write(line, " ", calls, "\n") end
  out:close()
end
local exit = os.exit
os.exit = function(...) write() exit(...) end
debug.sethook = function() end -- the counter's own
local chunk = assert(loadfile(script))
arg = {[0] = script}
sethook(count, "c")
pcall(chunk)
write()
