-- Numbers and sorting: a sieve, matrices, n bodies, quicksort in Lua and table.sort in C.
-- argument: how often.
local times = tonumber(arg[1]) or 1

local seed = 42
local function random()
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed / 2147483648
end

local function sieve(n)
  local composite, count = {}, 0
  for i = 2, n do
    if not composite[i] then
      count = count + 1
      for j = i * i, n, i do composite[j] = true end
    end
  end
  return count
end

local function multiply(a, b, n)
  local c = {}
  for i = 1, n do
    local row, from = {}, a[i]
    for j = 1, n do
      local sum = 0.0
      for k = 1, n do sum = sum + from[k] * b[k][j] end
      row[j] = sum
    end
    c[i] = row
  end
  return c
end

local function matrix(n)
  local m = {}
  for i = 1, n do
    m[i] = {}
    for j = 1, n do m[i][j] = random() end
  end
  return m
end

local function quicksort(t, low, high)
  if low >= high then return end
  local pivot, i, j = t[(low + high) // 2], low, high
  while i <= j do
    while t[i] < pivot do i = i + 1 end
    while t[j] > pivot do j = j - 1 end
    if i <= j then t[i], t[j] = t[j], t[i]; i = i + 1; j = j - 1 end
  end
  quicksort(t, low, j)
  quicksort(t, i, high)
end

local function bodies(steps)
  local b = {}
  for i = 1, 5 do b[i] = { x = i, y = i * 0.5, vx = 0.01 * i, vy = -0.02, m = 1 / i } end
  for _ = 1, steps do
    for i = 1, #b do
      for j = i + 1, #b do
        local p, q = b[i], b[j]
        local dx, dy = p.x - q.x, p.y - q.y
        local d = math.sqrt(dx * dx + dy * dy) + 0.01
        local f = 0.01 / (d * d * d)
        p.vx = p.vx - dx * q.m * f; p.vy = p.vy - dy * q.m * f
        q.vx = q.vx + dx * p.m * f; q.vy = q.vy + dy * p.m * f
      end
    end
    for _, p in ipairs(b) do p.x = p.x + p.vx; p.y = p.y + p.vy end
  end
  return b[1].x
end

local total = 0
for _ = 1, times do
  total = total + sieve(3000)
  total = total + multiply(matrix(14), matrix(14), 14)[7][7]
  local list, other = {}, {}
  for i = 1, 600 do list[i] = random(); other[i] = math.floor(random() * 1e6) end
  quicksort(list, 1, #list)
  table.sort(other)
  table.sort(other, function(a, b) return a > b end)
  total = total + list[1] + other[1] + bodies(60)
end
print(string.format("%.6f", total))
