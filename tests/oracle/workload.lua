-- A workload for the oracle tests: much of Lua's own C code, the same calls on every run.
-- argument: how often (100 is about a second). No addresses, no clock, no random seed may matter.
local times = tonumber(arg[1]) or 1

local seed = 42
local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % n + 1
end

local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end

local function strings()
  local parts = {}
  for i = 1, 300 do
    parts[#parts + 1] = string.format("%d:%s:%5.2f:%x:%q", i, "item" .. i, i / 3, i, "a\nb")
  end
  local text = table.concat(parts, ",")
  local n = 0
  for word in text:gmatch("%a+") do n = n + #word end
  text = text:gsub("%d+", function(digits) return #digits % 2 == 0 and digits or "<" .. digits .. ">" end)
  n = n + #text:upper():lower():reverse():rep(2, "-")
  for i = 1, #text, 7 do n = n + text:byte(i) end
  return n + select(2, text:gsub("item", { item = "thing" })) + (text:find("299", 1, true) or 0)
end

local function sorting()
  local list, words = {}, {}
  for i = 1, 400 do list[i] = random(100000) end
  table.sort(list)
  for i = 1, 90 do words[i] = "w" .. random(1000) end
  table.sort(words, function(a, b) return a > b end)
  return list[1] + #words[1]
end

local Point = {}
Point.__index = Point
Point.__add = function(a, b) return setmetatable({ x = a.x + b.x, y = a.y + b.y }, Point) end
Point.__eq = function(a, b) return a.x == b.x and a.y == b.y end
Point.__lt = function(a, b) return a.x < b.x end
Point.__concat = function(a, b) return tostring(a.x) .. "/" .. tostring(b.x) end
Point.__len = function(a) return a.x end
Point.__call = function(a, k) return a.x * k end

local function objects()
  local sum = setmetatable({ x = 0, y = 0 }, Point)
  local n = 0
  for i = 1, 500 do
    local p = setmetatable({ x = i, y = -i }, Point)
    sum = sum + p
    if sum == p or p < sum then n = n + #p end
    n = n + p(2) + #(sum .. p)
  end
  local proxy = setmetatable({}, { __index = function(_, k) return k end,
                                   __newindex = function(t, k, v) rawset(t, k, v) end })
  for i = 1, 200 do proxy[i] = proxy[i + 1] end
  return sum.x + n + #proxy
end

local function errors()
  local n = 0
  local function deep(level)
    if level == 0 then error({ code = 7 }) end
    return 1 + deep(level - 1)
  end
  for i = 1, 50 do
    local ok, problem = pcall(deep, 20)
    if not ok then n = n + problem.code end
    ok = xpcall(function() return nil + 1 end, function(message) return #message end)
    if not ok then n = n + 1 end
    ok = pcall(string.rep, "x", -1) and pcall(error)
  end
  return n
end

local function coroutines()
  local function walk(n)
    if n > 0 then
      walk(n - 1)
      coroutine.yield(n)
      walk(n - 1)
    end
  end
  local sum = 0
  for value in coroutine.wrap(function() walk(7) end) do sum = sum + value end
  return sum
end

local function compiling()
  local source = {}
  for i = 1, 40 do
    source[#source + 1] = ("local function f%d(a, ...) local t = {a, b = %d, ...} ; "):format(i, i) ..
      "for k, v in pairs(t) do if v == a then goto done elseif not v then break end end " ..
      "while a > 10 do a = a // 2 + (a & 3) end ::done:: return a .. '', #t, f" .. i .. " end"
  end
  local chunk = load(table.concat(source, "\n") .. "\nreturn f1(100, 2, 3)")
  local dumped = string.dump(chunk)
  return select("#", load(dumped, "again", "b")()) + #dumped
end

local function packing()
  local n = 0
  for i = 1, 200 do
    local packed = string.pack("<i4 z s2 d", i, "abc", "defg", i / 7)
    local a, b, c, d = string.unpack("<i4 z s2 d", packed)
    n = n + a + #b + #c + utf8.len(utf8.char(i, 8364, 128512)) + math.floor(d)
  end
  return n
end

local function garbage()
  local keep = {}
  for i = 1, 2000 do keep[i % 50 + 1] = { i, tostring(i), { i } } end
  collectgarbage()
  collectgarbage("step", 10)
  local weak = setmetatable({}, { __mode = "v" })
  for i = 1, 100 do weak[i] = {} end
  collectgarbage()
  local left = 0
  for _ in pairs(weak) do left = left + 1 end
  return #keep + left
end

local total = 0
for _ = 1, times do
  total = total + fib(18) + strings() + sorting() + objects() + errors() + coroutines() +
    compiling() + packing() + garbage()
end
print(string.format("%.0f", total))
