#!/bin/bash
# Code that programs generate while they run gets the names from the program, and stacks through
# this code are complete.
. "$(dirname "$0")/lib.sh"
sources=$here/jit
maps=()
trap 'rm -f "${maps[@]}"; finish' EXIT

# self NAME: the share of the time in functions of that name, in percent. Only names that a file tells.
self() {
  "$REPORT" --self --all --format csv "$profile" 2>/dev/null | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
total = sum(int(r["self"]) for r in rows)
print(100 * sum(int(r["self"]) for r in rows if r["name"] == sys.argv[1]) / max(total, 1))' "$1"
}
dominated_by() {
  "$REPORT" --self --all --format csv "$profile" 2>/dev/null | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
total = sum(int(r["self"]) for r in rows)
print(100 * max([int(r["dominated"]) for r in rows if r["name"] == sys.argv[1]], default=0) / max(total, 1))' "$1"
}
pid_of_profile() { "$REPORT" --summary --format json "$profile" | grep -o '"pid": *[0-9]*' | grep -o '[0-9]*' | head -n 1; }
least() { awk -v a="$2" -v b="$3" 'BEGIN { exit !(a >= b) }' || fail "$1 is $2 %, expected $3 or more"; }
most() { awk -v a="$2" -v b="$3" 'BEGIN { exit !(a <= b) }' || fail "$1 is $2 %, expected $3 or less"; }

# has PATH: the functions call each other, with nothing of the interpreter between them.
has() {
  "$REPORT" --path "$1" "$profile" >/dev/null 2>&1 || fail "no such path: $1"
}

begin "a perf map"
same "$PROGRAMS/generated.plain"
map=/tmp/perf-$(pid_of_profile).map
maps+=("$map")
address=$("$REPORT" --self --all --format csv "$profile" | grep -o '^0x[0-9a-f]*' | head -n 1)
[ -n "$address" ] || fail "the generated code is not in the profile"
printf '%x 10 between caller and callee\n' "$address" >"$map"
"$REPORT" --path "main,caller,between caller and callee,callee" "$profile" >/dev/null 2>&1 ||
  fail "the generated code has no name"
touch -d '2 days ago' "$map"
check "an older map is another process's" "$(self "between caller and callee")" = 0.0
touch "$map"
"$REPORT" --pack "$profile" >/dev/null
rm "$map"
"$REPORT" --path "main,caller,between caller and callee,callee" "$profile" >/dev/null 2>&1 ||
  fail "the name was not put into the profile"
verified "$profile"

if command -v node >/dev/null; then
  for how in --perf-basic-prof --perf-prof; do
    begin "node $how"
    same node $how --interpreted-frames-native-stack "$sources/work.js"
    maps+=("/tmp/perf-$(pid_of_profile).map")
    least "fib" "$(dominated_by fib)" 5
    least "sum" "$(dominated_by sum)" 5
    most "[truncated]" "$(dominated_by '[truncated]')" 5
  done
else
  skip "node is not installed"
fi

if command -v javac >/dev/null; then
  begin "java"
  javac -d "$dir" "$sources/Work.java"
  same java -cp "$dir" -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions \
    -XX:+DumpPerfMapAtExit Work
  maps+=("/tmp/perf-$(pid_of_profile).map")
  least "fib" "$(dominated_by 'int Work.fib(int)')" 10
  least "sum" "$(dominated_by 'long Work.sum(int)')" 5
  most "[truncated]" "$(dominated_by '[truncated]')" 5
else
  skip "no Java compiler is installed"
fi

if command -v go >/dev/null; then
  begin "go"
  (cd "$dir" && HOME=$dir GO111MODULE=off go build -ldflags=-linkmode=external -o work "$sources/work.go") ||
    fail "go build"
  same "$dir/work"
  verified "$profile"
  has "main.main.func1,main.digest"
  most "[truncated]" "$(dominated_by '[truncated]')" 5
else
  skip "Go is not installed"
fi

# name_of PLACE: the name of the function there.
name_of() {
  "$REPORT" --self --all --format csv "$profile" 2>/dev/null | python3 -c '
import csv, sys
print(*[r["name"] for r in csv.DictReader(sys.stdin) if (r["file"] + ":" + r["line"]).endswith(sys.argv[1])])' "$1"
}
with_adapter() { settings+=(LD_PRELOAD="$LIB:$(dirname "$LIB")/libfbleprof_lua.so"); }

if command -v luajit >/dev/null; then
  begin "luajit without the adapter"
  same luajit "$sources/work.lua"
  verified "$profile"
  least "main" "$(dominated_by main)" 90
  most "[truncated]" "$(dominated_by '[truncated]')" 5

  begin "compiled code that calls counted functions, luajit"
  calls='local s = 0 for i = 1, 2e5 do s = s + i % 7 end print(s)'
  plain luajit -e "$calls"
  # Searching the stack anew for each call would take longer than a test may.
  run profiled -- "$FBLE_PROF" --exact -o "$profile" luajit -e "$calls" 2>/dev/null
  cmp -s "$dir/plain.out" "$dir/profiled.out" || fail "its output differs"
  verified "$profile"

  for how in on off; do
    begin "functions of scripts, luajit -j$how"
    with_adapter
    # The traceback ends with an address of the program, which differs from run to run.
    scale=$([ $how = on ] && echo 4 || echo 1)
    plain luajit -j$how "$sources/functions.lua" "$scale"
    profiled luajit -j$how "$sources/functions.lua" "$scale"
    sed -i 's/ at 0x[0-9a-f]*$/ at 0x/' "$dir/plain.err" "$dir/profiled.err"
    same_as_plain
    verified "$profile"
    has "main chunk,work,outer,middle,inner"
    has "work,methods"
    has "work,sort,table.sort"
    has "work,consume"
    has "$(name_of functions.lua:61),inner"
    has "work,fail,pcall"
    least "work" "$(dominated_by work)" 95
    least "inner" "$(self inner)" 10
    most "[truncated]" "$(dominated_by '[truncated]')" 1
    "$REPORT" --self --all "$profile" 2>/dev/null | grep -q " inner .*functions.lua:3$" ||
      fail "inner has no line"
    "$REPORT" --path "work,first" "$profile" >/dev/null 2>&1 &&
      fail "the function that was tail-called has its caller's name"
  done

  begin "one state after the other, luajit"
  cat >"$dir/states.c" <<'C'
#include <stdio.h>
void* luaL_newstate(void);
void luaL_openlibs(void*);
int luaL_loadstring(void*, const char*);
int lua_pcall(void*, int, int, int);
void lua_close(void*);
int main(void) {
  for (int i = 0; i < 12; ++i) {
    char text[200];
    snprintf(text, sizeof text, "local function work%d() local sum = 0 for i = 1, 2e7 do sum = sum + i end "
             "return sum end local sum = work%d() return sum", i, i);
    void* state = luaL_newstate();
    luaL_openlibs(state);
    if (luaL_loadstring(state, text) || lua_pcall(state, 0, 0, 0)) puts("error");
    lua_close(state);
  }
  return 0;
}
C
  if gcc "$dir/states.c" -o "$dir/states" -l:libluajit-5.1.so.2 2>/dev/null; then
    with_adapter
    same "$dir/states"
    check "functions of twelve states" "$("$REPORT" --self --all --format csv "$profile" 2>/dev/null |
      grep -c '^work[0-9]*,')" = 12
  else
    skip "there is no libluajit to link with"
  fi
else
  skip "LuaJIT is not installed"
fi
