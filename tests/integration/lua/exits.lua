-- Ends from within a function, three calls deep.
local function bottom() os.exit(7) end
local function middle() bottom() end
local function top() middle() end
print("before")
top()
