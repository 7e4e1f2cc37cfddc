-- Works at the end of a recursion of 100,000 calls.
local function work(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local function down(n)
  if n > 0 then return down(n - 1) + 1 end
  local sum = 0
  for _ = 1, 800 do sum = sum + work(100000) end
  return sum
end
local function start(n) return down(n) + 1 end
print(start(100000))
