#!/bin/bash
# The C API as runtimes use it: with and without hooks in the runtime, from every language standard,
# with libraries older and newer than the header; and the example of the manual page.
. "$(dirname "$0")/lib.sh"
include=$SOURCE/libprof/include

begin "the header is clean"
cat >"$dir/user.c" <<'C'
#include <fbleprof/fbleprof.h>
int use(void);
int use(void) {
  const fbleprof_block block = fbleprof_block_new("a", "b", 1);
  fbleprof_enter(block);
  fbleprof_leave_newest();
  return fbleprof_context_current() == FBLEPROF_NOT_SWITCHED ? 1 : fbleprof_is_enabled();
}
C
warnings="-pedantic-errors -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only -I$include"
for way in "gcc -std=c99" "gcc -std=c17" "clang-14 -std=c99 -Wmissing-variable-declarations" \
  "clang-14 -std=c17 -Wmissing-variable-declarations" "g++ -x c++ -std=c++98" "g++ -x c++ -std=c++20" \
  "clang++-14 -x c++ -std=c++98 -Wmissing-variable-declarations" \
  "clang++-14 -x c++ -std=c++20 -Wmissing-variable-declarations"; do
  # shellcheck disable=SC2086  # words
  $way $warnings "$dir/user.c" 2>"$dir/errors" || fail "$way: $(head -n 3 "$dir/errors")"
done

ticks_of() { "$REPORT" --metric ticks "$1" | sed -n 's/^ticks \([0-9,]*\) in all.*/\1/p'; }
for way in "gcc" "gcc -pg -mfentry" "gcc -finstrument-functions"; do
  begin "a runtime, $way"
  # shellcheck disable=SC2086  # words
  $way -O2 -g -Wall -Wextra -Werror -I"$include" "$here/../programs/api_runtime.c" -o "$dir/runtime" -pthread ||
    fail "cannot build api_runtime.c"
  settings=(FBLEPROF_CLOCK=ticks)
  same "$dir/runtime"
  files=$dir/profiled
  verified "$profile" "$files"/{one,two,three,own}.profile
  check "ticks of profile one" "$(ticks_of "$files/one.profile")" = 75
  check "ticks of profile two" "$(ticks_of "$files/two.profile")" = 600
  check "a freed profile is empty" "$(ticks_of "$files/three.profile")" = 21
  "$REPORT" --by label:profile --metric ticks --format csv "$profile" >"$dir/by.csv"
  check "profiles as a label" "$(grep -c '^profile=one,75,' "$dir/by.csv")" = 1
  "$REPORT" --by label:profile --inlines --metric ticks --format csv "$profile" >"$dir/inlined.csv"
  check "with inlined functions, too" "$(diff "$dir/by.csv" "$dir/inlined.csv")" = ""
  for child in "$profile".*; do verified "$child"; done
  case $way in
    *-pg*) expected ;;
  esac
done

begin "calls from lines of the source"
cat >"$dir/lines.c" <<'C'
#include <fbleprof/fbleprof.h>
int main(void) {
  fbleprof_block f = fbleprof_block_new("f", "source.x", 1), g = fbleprof_block_new("g", "source.x", 9);
  fbleprof_enter(f);
  for (int i = 0; i < 10; ++i) {
    fbleprof_enter_from(g, i < 3 ? 5u : 6u);
    fbleprof_leave(g);
  }
  fbleprof_leave(f);
  return 0;
}
C
gcc -O2 -I"$include" "$dir/lines.c" -o "$dir/lines" || fail "cannot build lines.c"
settings=(FBLEPROF_CLOCK=ticks FBLEPROF_CALLSITES=on)
same "$dir/lines"
verified "$profile"
"$REPORT" --call-sites --format csv "$profile" >"$dir/sites.csv"
check "calls from line 5" "$(grep -c '^f,g,source.x,5,' "$dir/sites.csv")" = 1
check "calls from line 6" "$(grep -c '^f,g,source.x,6,' "$dir/sites.csv")" = 1

begin "other libraries"
cat >"$dir/other.c" <<'C'
#define FBLEPROF_BUILDING_LIBRARY
#include <fbleprof/fbleprof.h>
#include <stdlib.h>
static void enter(fbleprof_block block) { exit((int)block); }
const struct fbleprof_api fbleprof_api_table = {VERSION, SIZE, .enter = enter};
C
cat >"$dir/user.c" <<'C'
#include <fbleprof/fbleprof.h>
int main(void) {
  fbleprof_leave_newest(); /* not in an old library */
  fbleprof_enter(7);
  return 0;
}
C
gcc -O2 -I"$include" "$dir/user.c" -o "$dir/user" || fail "cannot build user.c"
old_size='offsetof(struct/**/fbleprof_api,leave_newest)'
while read -r version size status; do
  gcc -shared -fPIC -I"$include" -DVERSION="$version" -DSIZE="$size" "$dir/other.c" -o "$dir/other.so" ||
    fail "cannot build other.c"
  LD_PRELOAD=$dir/other.so "$dir/user"
  check "version $version, size $size" $? = "$status"
done <<LIST
1 $old_size 7
2 sizeof(struct/**/fbleprof_api) 0
1 16 0
LIST

begin "the example of the manual page"
# The manual page shows the file, each backslash as \e and each hyphen as \-.
sed -n '/^\.\\" interpreter.c$/,/^\.EE$/p' "$SOURCE/docs/man/fbleprof.3" | sed '/^\.[\\E]/d' |
  sed 's/^\\&//; s/\\-/-/g; s/\\e/\\/g' >"$dir/shown.c"
cmp "$dir/shown.c" "$SOURCE/docs/examples/interpreter.c" || fail "the page does not show docs/examples/interpreter.c"
gcc -std=c99 -O2 -Wall -Wextra -Werror -I"$include" "$dir/shown.c" -o "$dir/interpreter" ||
  fail "cannot build the example"
plain "$dir/interpreter"
check "without a profiler it says nothing" ! -s "$dir/plain.out"
profiled "$dir/interpreter"
verified "$profile"
cat >"$dir/expected" <<'TREE'
  main (line 1): 2 calls, 0 tail calls, 10 ticks
    job (line 30): 2 calls, 0 tail calls, 60 ticks
    careful (line 20): 2 calls, 0 tail calls, 6 ticks
      careless (line 26): 2 calls, 0 tail calls, 8 ticks
        fail (line 40): 2 calls, 0 tail calls, 0 ticks
    odd (line 12): 0 calls, 2 tail calls, 4 ticks
    even (line 8): 2 calls, 0 tail calls, 2 ticks
TREE
diff "$dir/expected" "$dir/profiled.out" || fail "the example's tree"

for optimized in -O0 -O2; do
  begin "a stack that the handler reads, $optimized"
  gcc -std=c99 $optimized -Wall -Wextra -Werror -I"$include" "$SOURCE/docs/examples/sampled_interpreter.c" \
    -o "$dir/interpreter" -pthread || fail "cannot build docs/examples/sampled_interpreter.c"
  same "$dir/interpreter"
  verified "$profile"
  near_share "light" "$(dominated light)" 28.6 3
  near_share "heavy" "$(dominated heavy)" 42.9 3
  near_share "callback" "$(dominated callback)" 42.9 3
  "$REPORT" --edges --format csv --all "$profile" >"$dir/edges.csv"
  for edge in main,heavy main,callback callback,light; do
    has_text "^$edge," "$dir/edges.csv" || fail "no $edge"
  done
  # The loop and the functions that call it are between a script's functions.
  check "the runtime's functions are left out" "$(grep -c '^callback,\(run\|apply\)' "$dir/edges.csv")" = 0
done
