#!/bin/bash
# Functions of Lua scripts: the profile's calls equal those that a Lua hook counts, and the script's
# behaviour does not change.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
scripts=$here/lua
adapter=$(dirname "$LIB")/libfbleprof_lua.so
command -v lua5.4 >/dev/null || { echo "skipped: lua5.4 is not installed"; exit 77; }

# with_adapter: the profiled runs of this case load the adapter and count exactly.
with_adapter() { settings+=(LD_PRELOAD="$LIB:$adapter" FBLEPROF_EXACT=on FBLEPROF_EXACT_EXCEPT=lua); }

# counted LUA SCRIPT: the profile's calls equal the counts of counter.lua.
counted() {
  "$1" "$scripts/counter.lua" "$dir/counts" "$2" >"$dir/counter.out" 2>&1 </dev/null
  "$REPORT" --self --all --format csv "$profile" 2>/dev/null |
    python3 "$scripts/compare.py" "$2" "$dir/counts" >"$dir/compared"
  check "$(cat "$dir/compared")" "$(wc -l <"$dir/compared")" = 1
}

for lua in lua5.2 lua5.3 lua5.4; do
  if ! command -v $lua >/dev/null; then
    skip "$lua is not installed"
    continue
  fi
  for script in calls coroutines exits; do
    begin "$script, $lua"
    with_adapter
    same $lua "$scripts/$script.lua"
    verified "$profile"
    counted $lua "$scripts/$script.lua"
  done
  begin "functions at the addresses of dead ones, $lua"
  with_adapter
  same $lua "$scripts/reused.lua"
  check "calls of each" "$("$REPORT" --self --all --format csv "$profile" 2>/dev/null |
    awk -F, '$1 == "even" || $1 == "odd" { print $1, $4 }' | sort | tr '\n' ' ')" = "even 500 odd 500 "
  begin "hooks of the program, $lua"
  with_adapter
  same $lua "$scripts/hooks.lua"
done

begin "names and places"
with_adapter
profiled lua5.4 "$scripts/calls.lua"
"$REPORT" --self --all --format json "$profile" >"$dir/self.json" 2>/dev/null
names() { python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
print(sum(1 for r in rows if r.get("name") == sys.argv[2]))' "$dir/self.json" "$1"; }
for function in fib loop even deep fail method colon __index __add table.sort pcall; do
  check "$function is there once" "$(names $function)" = 1
done 2>>"$dir/profiled.err"

# The user's own LUA_INIT runs, under its own name, and no variable changes.
text='print("user", debug.getinfo(1).source, os.getenv("LUA_INIT"), os.getenv("LUA_INIT_5_4"))'
for setting in LUA_INIT="$text" LUA_INIT_5_4="$text" LUA_INIT='error("bad")' LUA_INIT='no Lua' \
  LUA_INIT="@$scripts/calls.lua" LUA_INIT_5_4=; do
  begin "${setting%%=*}, ${setting: -12}"
  limits=("$setting")
  with_adapter
  same lua5.4 "$scripts/exits.lua"
done
# The words before the script's name.
for words in "--" "-W" "-e x=1" "-l os -i" "-e x=1 -- "; do
  begin "lua $words"
  with_adapter
  # shellcheck disable=SC2086  # several words
  same lua5.4 $words "$scripts/exits.lua" </dev/null
  verified "$profile"
done
begin "lua - <script"
with_adapter
# shellcheck disable=SC2016  # for the inner shell
same sh -c 'exec lua5.4 - <"$1"' sh "$scripts/exits.lua"
verified "$profile"
begin "lua -E"
with_adapter
same lua5.4 -E -e 'print(os.getenv("LUA_INIT_5_4"), os.getenv("LUA_INIT"))'

if [ -e /usr/include/lua5.4/lua.h ] && cc "$scripts/embedded.c" -o "$work/embedded" -llua5.4 2>/dev/null; then
  begin "liblua in a program"
  with_adapter
  same "$work/embedded" "$scripts/calls.lua"
  verified "$profile"
  check "calls of fib in two states" "$("$REPORT" --self --all --format csv "$profile" 2>/dev/null |
    awk -F, '$1 == "fib" { print $4 }')" = 43782

  begin "hooks of states, in threads and in coroutines"
  cc "$scripts/hooked.c" -o "$work/hooked" -llua5.4 -lpthread || fail "cannot build hooked"
  with_adapter
  same "$work/hooked"
  verified "$profile"

  begin "a thread's end"
  cc "$scripts/threads.c" -o "$work/threads" -llua5.4 -lpthread || fail "cannot build threads"
  with_adapter
  same "$work/threads"
  verified "$profile"
  begin "a thread's end, sampled"
  settings=(LD_PRELOAD="$LIB:$adapter")
  same "$work/threads"

  # As lua.c does, but with Lua as a library, whose states our lua_newstate starts.
  begin "a front end that runs LUA_INIT"
  cat >"$dir/front_end.c" <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  lua_State* state = luaL_newstate();
  luaL_openlibs(state);
  const char* text = getenv("LUA_INIT");
  if (text && luaL_dostring(state, text)) return 1;
  const int failed = argc < 2 || luaL_dofile(state, argv[1]);
  lua_close(state);
  return failed;
}
END
  cat >"$dir/collects.lua" <<'END'
local function works(n) local sum = 0 for i = 1, n do sum = sum + math.sin(i) % 3 end return sum end
collectgarbage() collectgarbage()
local stop = os.clock() + 0.6
while os.clock() < stop do works(20000) end
END
  gcc -I/usr/include/lua5.4 "$dir/front_end.c" -o "$dir/front_end" -llua5.4 || fail "cannot build a front end"
  with_adapter
  same "$dir/front_end" "$dir/collects.lua"
  verified "$profile"
  check "its functions are shown" "$("$REPORT" --self --all "$profile" | grep -c works)" -ge 1

  begin "the example of an adapter in one file"
  gcc -std=gnu99 -O2 -Wall -Wextra -Werror -shared -fPIC -I/usr/include/lua5.4 -I"$SOURCE/libprof/include" \
    "$SOURCE/docs/examples/adapter.c" -o "$work/adapter.so" || fail "cannot build docs/examples/adapter.c"
  sed '/lua_[gs]ethook/d; s/2 \* (argc - 1)/argc - 1/' "$scripts/embedded.c" >"$work/host.c"
  gcc "$work/host.c" -o "$work/host" -llua5.4 || fail "cannot build a program with liblua"
  for script in calls coroutines; do
    run plain -- "$work/host" "$scripts/$script.lua"
    run profiled LD_PRELOAD="$LIB:$work/adapter.so" FBLEPROF_OUT="$profile" -- "$work/host" "$scripts/$script.lua"
    same_as_plain
    verified "$profile"
    lua5.4 "$scripts/counter.lua" "$dir/counts" "$scripts/$script.lua" >/dev/null 2>&1 </dev/null
    "$REPORT" --self --all --lines --format csv "$profile" 2>/dev/null |
      python3 "$scripts/compare.py" "$scripts/$script.lua" "$dir/counts" >"$dir/compared"
    check "counts that differ, of $script.lua" "$(grep -c '^line' "$dir/compared")" = 0
  done
else
  skip "liblua5.4-dev is not installed"
fi

# rows NAME: how many functions have that name; self NAME: the time of its own, in percent of all.
rows() { "$REPORT" --self --all --format csv "$profile" 2>/dev/null | grep -c "^$1,"; }
self() {
  "$REPORT" --self --all --format csv "$profile" 2>/dev/null |
    awk -F, -v name="$1" 'NR > 1 { all += $2 } $1 == name { own = $2 } END { printf "%d", 100 * own / all }'
}
for lua in lua5.2 lua5.3 lua5.4; do
  command -v $lua >/dev/null || continue
  begin "functions of one line, $lua"
  with_adapter
  same $lua "$scripts/lines.lua"
  check "the time in Lua's loop is that of sum" "$(self sum)" -gt 90
  for function in short long what "what (2)"; do
    check "$function is there once" "$(rows "$function")" = 1
  done
  settings=(LD_PRELOAD="$LIB:$adapter" FBLEPROF_RATE=5000)
  profiled $lua "$scripts/lines.lua"
  check "sampled short" "$(rows short)" = 1
  check "sampled long" "$(rows long)" = 1
  near "sampled long" "$(dominated long)" 66 20
done

# Sampled: nothing is installed in Lua.
samples() { settings+=(LD_PRELOAD="$LIB:$adapter"); }
path_is_there() { "$REPORT" --path "$1" "$profile" >/dev/null 2>&1 || fail "there is no path $1"; }
for lua in lua5.2 lua5.3 lua5.4; do
  command -v $lua >/dev/null || continue
  begin "sampled, $lua"
  samples
  same $lua "$scripts/shares.lua"
  verified "$profile"
  path_is_there "main chunk,direct,work"
  path_is_there "produce,work"
  path_is_there "main chunk,from_c,table.sort"
  path_is_there "compare,work"
  near "direct" "$(dominated direct)" 40 15
  near "in a coroutine" "$(dominated produce)" 40 15
  least=$(dominated work)
  near "all the work" "$least" 98 4
  begin "a deep recursion, $lua"
  samples
  same $lua "$scripts/deep.lua"
  near "the time whose path is complete" "$(dominated "main chunk")" 92 8
  near "what is first met so deep has its name" "$(dominated work)" 92 8
  for script in calls coroutines hooks exits; do
    begin "sampled $script, $lua"
    samples
    settings+=(FBLEPROF_RATE=5000)
    same $lua "$scripts/$script.lua"
    verified "$profile"
  done
done

# fble-prof recognizes the interpreter, also in a script's first line.
begin "fble-prof loads the adapter"
printf '#!/usr/bin/env lua5.4\nlocal function f() end\nfor i = 1, 9 do f() end\n' >"$dir/script"
chmod +x "$dir/script"
for how in "lua5.4 $dir/script" "$dir/script"; do
  rm -f "$dir"/mlmon.out*
  # shellcheck disable=SC2086  # the program and its argument
  "$FBLE_PROF" --exact -o "$profile" $how
  check "calls of f by $how" "$("$REPORT" --self --format csv "$profile"* 2>/dev/null |
    awk -F, '$1 == "f" { print $4 }')" = 9
done
rm -f "$dir"/mlmon.out*
"$FBLE_PROF" --no-lua --exact -o "$profile" lua5.4 "$dir/script"
check "--no-lua counts Lua's own functions" "$("$REPORT" --self --format csv "$profile" 2>/dev/null |
  grep -c '^f,')" = 0
