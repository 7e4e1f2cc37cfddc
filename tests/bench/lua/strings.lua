-- Strings and tables: words of a text counted, joined, replaced, formatted, and thrown away.
-- argument: how often.
local times = tonumber(arg[1]) or 1
local words = {}
for w in ([[the quick brown fox jumps over the lazy dog while seven wizards hex a jolly quiet
  bard near the frozen lake and nobody asks why]]):gmatch("%a+") do words[#words + 1] = w end

local seed = 7
local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % n + 1
end

local function text_of(lines)
  local out = {}
  for i = 1, lines do
    local line = {}
    for j = 1, 9 do line[j] = words[random(#words)] .. (j % 3 == 0 and tostring(random(50)) or "") end
    out[i] = table.concat(line, " ")
  end
  return table.concat(out, "\n")
end

local function count_words(text)
  local counts = {}
  for w in text:gmatch("%w+") do counts[w] = (counts[w] or 0) + 1 end
  local names = {}
  for w in pairs(counts) do names[#names + 1] = w end
  table.sort(names, function(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return a < b
  end)
  return names, counts
end

local total = 0
for _ = 1, times do
  local text = text_of(120)
  local names, counts = count_words(text)
  local page = {}
  for rank, name in ipairs(names) do
    page[rank] = string.format("%4d  %-12s %5.1f%%", rank, name, counts[name] / 10)
  end
  local html = table.concat(page, "\n"):gsub("[%a]+", { fox = "<b>fox</b>", dog = "<i>dog</i>" })
  local upper = html:upper():lower():rep(2, "-")
  local fields = {}
  for key, value in upper:gmatch("(%w+)%s+([%d.]+)%%") do fields[key] = tonumber(value) end
  for _, value in pairs(fields) do total = total + value end
  total = total + #upper + select(2, text:gsub("%d+", "#"))
end
print(string.format("%.1f", total))
