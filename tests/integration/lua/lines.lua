-- Functions that begin on one line, and a function whose time is that of its own instructions.
local function sum(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local short, long = function(n) return (sum(n)) end, function(n) local s = sum(n) return s + 1 end
local function apply(what, n) local r = what(n) return r end
for _ = 1, 20 do
  short(100000)
  long(200000)
  apply(function(n) return n + 1 end, 1) apply(function(n) return n + 2 end, 1)
end
