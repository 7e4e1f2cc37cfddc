#!/bin/bash
# A profile that this program exports and reads again is unchanged: --diff finds nothing. A packed
# profile keeps its names. Chance is not reported as a change.
. "$(dirname "$0")/lib.sh"

cat >app.cc <<'C'
#include <cstdio>
#include <vector>
#include <algorithm>
volatile long sink;
namespace text {
struct Parser {
  Parser(int n) : n_(n) { burn(n); }
  __attribute__((noinline)) void burn(long n) { for (long i = 0; i < n * 100000; ++i) sink += i; }
  template <class T> __attribute__((noinline)) T parse(T a, const std::vector<T>& b) {
    burn(n_);
    return a + (b.empty() ? 0 : b[0]);
  }
  int n_;
};
}
static __attribute__((noinline)) void helper(long n) { for (long i = 0; i < n; ++i) sink += i; }
void other_helper(long n);
void (*volatile call)(long) = helper;
int main() {
  text::Parser parser(20);
  std::vector<int> numbers(100000, 1);
  for (int i = 0; i < 200; ++i) sink += parser.parse(i, numbers);
  std::vector<long> longs(3, 4);
  for (int i = 0; i < 20; ++i) sink += parser.parse(2L, longs);
  call(30000000);
  other_helper(20000000);
  for (int i = 0; i < 200; ++i) std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a > b; });
  std::puts("done");
}
C
cat >other.cc <<'C'
extern volatile long sink;
static __attribute__((noinline)) void helper(long n) { for (long i = 0; i < n; ++i) sink += 2 * i; }
void (*volatile call_other)(long) = helper;
void other_helper(long n) { call_other(n); }
C

# nothing_changed BASE NOW ARGS...
nothing_changed() {
  local view
  for view in --self ''; do
    # shellcheck disable=SC2086
    "$REPORT" --diff "$@" $view --format json >diff.json 2>diff.err ||
      fail "--diff $* failed: $(cat diff.err)"
    python3 - diff.json >changed <<'P' || fail "--diff $* $view: $(head -n 5 changed)"
import json, sys
document = json.load(open(sys.argv[1]))
table = document.get('rows') or document['nodes']
pairs = [(c, c[5:] or 'now') for c in table[0] if c.startswith('base')]
wrong = [r for r in table for a, b in pairs if r[a] != r[b if b in r else b.lstrip('_')]]
print(*wrong[:5], len(table), sep='\n')
sys.exit(bool(wrong) or len(table) < 3)
P
  done
}

formats='pprof speedscope folded'
# round_trip PROFILE: through every format that can be read again, in both directions.
round_trip() {
  local format
  for format in $formats; do
    "$REPORT" --export "$format" -o "$1.$format" "$1" 2>export.err || fail "$(cat export.err)"
    nothing_changed "$1.$format" "$1"
    nothing_changed "$1" "$1.$format"
  done
  nothing_changed "$1.pprof" "$1.speedscope"
  nothing_changed "$1.folded" "$1.pprof" --metric cpu
}
record() { FBLEPROF_OUT=$1 LD_PRELOAD=$LIB "${@:2}" >/dev/null 2>&1 || fail "${*:2} failed"; }

begin 'our exports are our profiles'
cd "$dir" || exit 1
g++ -g -O1 -pg -mfentry -Wl,--build-id -o hooked ../app.cc ../other.cc || fail 'not built'
g++ -g -O1 -Wl,--build-id -o sampled ../app.cc ../other.cc || fail 'not built'
g++ -O1 -Wl,--build-id -o fileless ../app.cc ../other.cc || fail 'not built'
for program in hooked sampled fileless; do
  record $program.ml "./$program"
  round_trip $program.ml
done
check 'namesakes stay two' "$("$REPORT" --self --format csv sampled.ml.pprof | grep -c '^helper(long),')" = 2
check 'namesakes without a file stay two' "$("$REPORT" --self --format csv fileless.ml.pprof | grep -c '^helper(long) \[fileless+0x')" = 2
check 'namesakes are marked' "$(grep -c 'helper(long) \[[^;]*\] [0-9]*$' sampled.ml.folded)" = 2
record notes.ml "$PROGRAMS/notes.fentry" deep 500
for format in pprof speedscope; do
  "$REPORT" --export $format -o "notes.$format" notes.ml
  nothing_changed "notes.$format" notes.ml --metric calls
done
# Folded stacks of calls, beside each that says what it counts.
"$REPORT" --export folded --metric calls -o calls.folded notes.ml || fail 'calls are not exported'
for other in notes.ml notes.pprof notes.speedscope; do
  nothing_changed $other calls.folded --metric calls
  nothing_changed calls.folded $other --metric calls
done

begin 'sampled addresses'
cd "$dir" || exit 1
for program in hooked sampled; do
  cp ../our_exports_are_our_profiles/$program prog
  FBLEPROF_LEAVES=1 record places.ml ./prog
  for format in pprof speedscope; do
    "$REPORT" --export $format --leaves -o places.$format places.ml 2>export.err || fail "$(cat export.err)"
    nothing_changed places.$format places.ml --leaves
    nothing_changed places.ml places.$format --leaves
    nothing_changed places.$format places.ml
    # Without them, what is below a function is its own.
    "$REPORT" --export $format -o whole.$format places.ml 2>export.err || fail "$(cat export.err)"
    nothing_changed whole.$format places.ml
    nothing_changed whole.$format places.$format
  done
  nothing_changed places.pprof places.speedscope --leaves
done
rows() { "$REPORT" "${@:2}" --format csv "$1" 2>/dev/null | wc -l; }
check 'there are places' "$(rows places.pprof --leaves)" -gt "$(rows places.pprof)"

begin 'names in any script'
cd "$dir" || exit 1
cat >blocks.c <<'C'
#include <fbleprof/fbleprof.h>
volatile long sink;
int main(void) {
  const char* names[] = {"разбор", "вывод", "plain", "λ", "μ", "a;b", "ends in 1", "line\nend", "\xff\xfe odd"};
  fbleprof_block blocks[9];
  for (int i = 0; i < 9; i++) blocks[i] = fbleprof_block_new(names[i], "a.f", 1);
  for (int i = 0; i < 90; i++) {
    fbleprof_enter(blocks[i % 9]);
    for (int j = 0; j < 1000000; j++) sink += j;
    fbleprof_leave(blocks[i % 9]);
  }
}
C
gcc -O1 -Wl,--build-id -I"$SOURCE/libprof/include" -o blocks blocks.c || fail 'not built'
record blocks.ml ./blocks
round_trip blocks.ml

begin 'memory'
cd "$dir" || exit 1
LD_PRELOAD=$LIB:$(dirname "$LIB")/libfbleprof_alloc.so FBLEPROF_ALLOCS=exact FBLEPROF_OUT=$dir/memory.ml \
  "$PROGRAMS/allocates.fentry" containers >/dev/null 2>&1 || fail 'not recorded'
"$REPORT" --export pprof -o memory.pb.gz memory.ml || fail 'not exported'
for metric in allocations allocated live; do nothing_changed memory.pb.gz memory.ml --metric $metric; done
columns() { "$REPORT" --allocations --format json "$1" | grep -o '"alloc[a-z]*":' | sort | uniq -c; }
check 'the same views' "$(columns memory.pb.gz)" = "$(columns memory.ml)"
has_text allocated <(columns memory.pb.gz) || fail 'no view of what was allocated'

begin 'packed profiles'
cd "$dir" || exit 1
# Without files and lines, which a packed profile keeps.
self_of() { "$REPORT" --self --format csv "$1" 2>err | sed 's/,[^,]*,[0-9]*$//'; }
cp ../our_exports_are_our_profiles/hooked prog
record mlmon.out ./prog
self_of mlmon.out >before
"$REPORT" --pack -o copy.ml mlmon.out >pack.out || fail 'not packed'
has_text 'functions named' pack.out || fail "packing says: $(cat pack.out)"
verified copy.ml
printf 'int main(void) { return 0; }' | gcc -x c -o prog -
export XDG_CACHE_HOME=$dir/none
self_of copy.ml >after
check 'a packed profile keeps its names' "$(cat after)" = "$(cat before)"
check "nothing is missed: $(cat err)" ! -s err
"$REPORT" --pack copy.ml >/dev/null || fail 'not packed again'
check 'packing twice changes nothing' "$(self_of copy.ml)" = "$(cat before)"
(trap '' XFSZ; ulimit -f 4; exec "$REPORT" --pack -o cut.ml mlmon.out) >out 2>err
check 'a file that is too large: status' $? = 2
has_text '^cut.ml: cannot write: File too large$' err || fail "it says: $(cat err)"
check 'no file is left over' "$(find . -name '*.packing' | wc -l)" = 0
cp ../our_exports_are_our_profiles/hooked prog
"$REPORT" --pack -o fresh.ml mlmon.out >/dev/null || fail "not packed afresh"
mkdir -p elsewhere
cp mlmon.out elsewhere/real.ml
chmod 640 elsewhere/real.ml
[ "$(id -u)" != 0 ] || chown 12345:23456 elsewhere/real.ml
owner=$(stat -c %u:%g:%a elsewhere/real.ml)
ln -s real.ml elsewhere/again.ml
ln -s elsewhere/again.ml link.ml
"$REPORT" --pack link.ml >/dev/null || fail 'a link was not packed'
cmp elsewhere/real.ml fresh.ml || fail 'packing a link does not pack its profile'
check 'links stay' "$(readlink link.ml) $(readlink elsewhere/again.ml)" = 'elsewhere/again.ml real.ml'
check 'owner and mode stay' "$(stat -c %u:%g:%a elsewhere/real.ml)" = "$owner"
ln -s elsewhere/made.ml new.ml
"$REPORT" --pack -o new.ml mlmon.out >/dev/null || fail 'not packed behind a link'
cmp elsewhere/made.ml fresh.ml || fail '-o does not follow a link to a file that is to be made'
"$REPORT" --pack -o - mlmon.out 2>err | cmp - fresh.ml || fail '-o - does not write the profile to stdout'
has_text '^stdout: .*functions named' err || fail "it says: $(cat err)"
check 'no file of that name' ! -e -
mkfifo pipe
timeout 20 cat pipe >piped.ml &
timeout 20 "$REPORT" --pack -o pipe mlmon.out >/dev/null 2>&1 || fail 'not packed into a pipe'
timeout 20 tail --pid=$! -f /dev/null
check 'a pipe stays one' -p pipe
cmp piped.ml fresh.ml || fail 'a pipe gets another profile'
"$FBLE_PROF" --names -o run.ml ./prog >out 2>err
check 'fble-prof --names: status' $? = 0
check 'fble-prof --names: the output is the program'"'"'s' "$(cat out)" = 'done'
check 'fble-prof --names: silent' ! -s err
"$FBLE_PROF" --names -o closed.ml ./prog >&- 2>err
check 'fble-prof --names: silent with stdout closed, too' ! -s err
rm prog
self_of run.ml | has_text '^"*text::Parser::burn' || fail 'no names after --names'
"$FBLE_PROF" --names -o status.ml sh -c 'exit 7'
check 'its exit status' $? = 7
"$FBLE_PROF" --names -o killed.ml sh -c 'kill -TERM $$' 2>/dev/null
check 'the signal that ended it' $? = 143
"$REPORT" --diff copy.ml copy.ml --fail-if '0 calls' --no-symbols >/dev/null || fail 'the gate takes packed profiles'

begin 'files cut and killed'
cd "$dir" || exit 1
mkdir empty
"$REPORT" empty 2>err
has_text 'empty: is a directory without profiles' err || fail "an empty directory: $(cat err)"
"$FBLE_PROF" -o dead.ml sh -c 'kill -9 $$' 2>/dev/null
cp --sparse=always dead.ml seen.ml
"$REPORT" --trim dead.ml >out || fail 'not trimmed'
check 'a killed profile can be trimmed' "$(stat -c %s dead.ml)" -lt 1000000
check 'it was large' "$(stat -c %s seen.ml)" -gt 10000000
"$REPORT" seen.ml >/dev/null || fail 'not read'
check 'reading it trims it' "$(stat -c %s seen.ml)" -lt 1000000
"$REPORT" dead.ml >/dev/null || fail 'not read after it was trimmed'
cp ../our_exports_are_our_profiles/sampled.ml whole.ml
for length in 100 1000 4096; do
  head -c $length whole.ml >cut.ml
  "$REPORT" cut.ml >out 2>err
  check "cut after $length bytes: status" $? = 2
  check "cut after $length bytes: one line" "$(wc -l <err)" = 1
  check "cut after $length bytes: nothing shown" ! -s out
done
{ printf 'f%d;' $(seq 20000); echo 'leaf 7'; } >long.folded
check 'a stack of 20,000 frames' "$("$REPORT" --self --format csv long.folded | grep -c '^leaf,7,')" = 1

begin 'other limits of depth'
cd "$dir" || exit 1
export FBLEPROF_CLOCK=ticks
record whole.ml ../our_exports_are_our_profiles/hooked
FBLEPROF_DEPTH=2 record shallow.ml ../our_exports_are_our_profiles/hooked
unset FBLEPROF_CLOCK
"$REPORT" --diff whole.ml shallow.ml --metric calls --self --all >out 2>err || fail 'not compared'
has_text 'compared by caller and callee' err out || fail 'nothing says so'
check 'no call differs' "$("$REPORT" --diff whole.ml shallow.ml --metric calls --format json 2>&1 | grep -o '"changed":true' | wc -l)" = 0

begin 'chance is no change'
cd "$dir" || exit 1
# On a machine that others use too, the time of a run drifts, so both sides have every other run.
for run in 1 2 3 4 5 6; do record run$run ../our_exports_are_our_profiles/sampled; done
odd=run1,run3,run5 even=run2,run4,run6
changed() { "$REPORT" --self --format json --diff "$@" 2>&1 | grep -o '"changed":true' | wc -l; }
check 'several runs of one program' "$(changed $odd $even)" = 0
"$REPORT" --diff $odd $even | has_text 'did not change' || fail 'it does not say so'
sed 's/n_(n)/n_(n * 5)/' ../app.cc >slower.cc
g++ -g -O1 -o slower slower.cc ../other.cc
# A machine that changes its speed meanwhile makes any difference look like chance.
for _ in 1 2 3; do
  for run in 7 8 9; do record run$run ./slower; done
  "$REPORT" --diff $odd run7,run8,run9 --fail-if '+20% cpu in text::Parser::burn*' >/dev/null 2>err
  broken=$?
  [ $broken = 0 ] || break
done
check 'what became slower is told' "$(changed $odd run7,run8,run9)" != 0
check 'and breaks the rule' "$broken" = 1
"$REPORT" --diff $odd $even --fail-if '0 cpu in text::Parser::burn*' >/dev/null 2>err
check 'chance breaks no rule' $? = 0
