#!/bin/bash
# Costs in the source: call sites, lines, instructions.
. "$(dirname "$0")/lib.sh"

# line_of COMMENT: the line of the test program with that comment.
line_of() { grep -n "// $1" "$SOURCE/tests/programs/sites.c" | cut -d: -f1; }
# sites FIELD [LINE]: the sum of a column over the calls of work (on that line). One source line may
# be several places in the code: compilers peel and unroll loops.
sites() {
  "$REPORT" --call-sites=work --format csv "$profile" | python3 -c '
import csv, sys
print(sum(int(row[sys.argv[1]]) for row in csv.DictReader(sys.stdin)
          if row["callee"] == "work" and sys.argv[2] in ("", row["line"])))
' "$1" "${2:-}"
}

for mode in fentry mcountc cyg; do
  begin "call sites $mode"
  settings=(FBLEPROF_CALLSITES=1)
  same "$PROGRAMS/sites.$mode" 5000
  verified "$profile"
  for site in 'first site' 'second site' 'inlined site'; do
    check "calls at the $site" "$(sites calls "$(line_of "$site")")" = 5000
    check "the $site is exact" "$(sites first_site_only "$(line_of "$site")")" = 0
  done
  check "all calls" "$(sites calls)" = 20000
  first=$(sites cost "$(line_of 'first site')") second=$(sites cost "$(line_of 'second site')")
  check "the expensive site costs more ($first, $second)" "$first" -lt "$second"

  begin "first sites $mode"
  same "$PROGRAMS/sites.$mode" 5000
  check "all calls" "$(sites calls)" = 20000
  check "two sites have none" "$(sites calls "$(line_of 'second site')")" = 0
  text=$("$REPORT" --call-sites "$profile")
  check "and the report says so" "${text/fble-prof --callsites/}" != "$text"
done

# annotated OPTION... : rows of --annotate as CSV, without the header.
annotated() { "$REPORT" --annotate "$@" --format csv "$profile" | tail -n +2; }

for mode in fentry mcountc cyg plain; do
  begin "lines and instructions $mode"
  settings=(FBLEPROF_LEAVES=1)
  same "$PROGRAMS/sites.$mode" 50000
  verified "$profile"
  hot=$(annotated work --source | sort -t, -k5,5nr | head -n 1)
  check "the hot line is known ($hot)" "$(cut -d, -f4 <<<"$hot")" = "$(line_of 'hot line')"
  check "it has its text" "${hot/hot line/}" != "$hot"
  lines=$(annotated work --source | awk -F, '$1 == 0 { sum += $5 } END { print sum }')
  instructions=$(annotated work --asm | awk -F, '{ sum += $2 } END { print sum }')
  check "lines and instructions have the same sum" "$lines" = "$instructions"
  whole=$("$REPORT" --self --format csv "$profile" | awk -F, '$1 == "work" { print $2 }')
  check "which is most of the self time ($lines of $whole)" "$((lines * 100))" -ge "$((whole * 95))"
  "$REPORT" --annotate caller --asm --all "$profile" >"$dir/all" || fail "the caller"
  has_text 'twice.*←.*caller' "$dir/all" || [ "$mode" = cyg ] || fail "inlined calls are shown"
done

begin "what lines call"
settings=(FBLEPROF_LEAVES=1 FBLEPROF_CALLSITES=1)
profiled "$PROGRAMS/sites.fentry" 50000
# total LINE: the inclusive cost of a line of the caller.
total() { annotated caller --source | awk -F, -v line="$1" '$1 == 0 && $4 == line { sum += $7 } END { print sum + 0 }'; }
second=$(total "$(line_of 'second site')") first=$(total "$(line_of 'first site')")
check "the expensive line has its callee's cost ($first, $second)" "$second" -gt "$((first * 5))"
whole=$("$REPORT" --dominated --format csv "$profile" | awk -F, '$1 == "caller" { print $3 }')
check "which is most of the caller's ($second of $whole)" "$((second * 100))" -gt "$((whole * 60))"
"$REPORT" --annotate twice --source "$profile" >"$dir/text" || fail "an inlined function has lines: $(cat "$dir/text")"
has_text 'inlined into caller' "$dir/text" || fail "it does not say where it was inlined"
has_text "$(line_of 'inlined site' | head -n 1) .*work(n)" "$dir/text" || fail "its lines are not shown"

begin "what is called back by code without hooks"
settings=(FBLEPROF_LEAVES=1)
cat >"$dir/back.c" <<'C'
#include <stdlib.h>
#define OWN __attribute__((noinline))
static volatile unsigned sink;
OWN int compare(const void* a, const void* b) {
  for (unsigned i = 0; i < 100; i++) sink += i;
  return *(const int*)a - *(const int*)b;
}
OWN void sorts(int* values, int count) {
  qsort(values, count, sizeof *values, compare);
  sink++;
}
int main(void) {
  static int values[40000];
  for (int i = 0; i < 40000; i++) values[i] = (int)(i * 1664525u >> 8);
  sorts(values, 40000);
}
C
gcc -O1 -g -pg -mfentry "$dir/back.c" -o "$dir/back" || fail "cannot build back.c"
profiled "$dir/back"
whole=$("$REPORT" --dominated --format csv "$profile" | awk -F, '$1 == "sorts" { print $3 }')
for by in source asm; do
  column=$([ "$by" = asm ] && echo 3 || echo 7)
  sum=$(annotated sorts "--$by" | awk -F, -v c="$column" '{ sum += $c } END { printf "%.0f", sum }')
  check "--$by has all of it" "$sum" = "$whole"
  annotated sorts "--$by" | tail -n 1 >"$dir/last"
  has_text 'code without hooks that it called' "$dir/last" || fail "--$by does not say what it is"
done

begin "call sites where nothing is inlined"
settings=(FBLEPROF_CALLSITES=1)
cat >"$dir/apart.c" <<'C'
#define OWN __attribute__((noinline))
OWN int leaf(int n) { volatile int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
OWN int again(int n) {
  int sum = leaf(n);
  if (n > 0) {
    sum += again(n - 1);
    if (n & 1)
      sum += again(n - 1);
  }
  return sum;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 300; i++)
    sum += leaf(10);
  for (int i = 0; i < 700; i++)
    sum += leaf(20);
  return (sum + again(6)) == 3;
}
C
gcc -O1 -g -pg -mfentry "$dir/apart.c" -o "$dir/apart" || fail "cannot build apart.c"
profiled "$dir/apart"
"$REPORT" --call-sites --format csv "$profile" >"$dir/sites.csv"
"$REPORT" --call-sites --inlines --format csv "$profile" >"$dir/inlines.csv"
check "the sites are apart" "$(grep -c '^main,leaf,' "$dir/sites.csv")" = 2
check "--inlines keeps them so" "$(diff <(sort "$dir/sites.csv") <(sort "$dir/inlines.csv"))" = ""

begin "a source file that is gone"
settings=(FBLEPROF_LEAVES=1)
cp "$SOURCE/tests/programs/sites.c" "$dir/gone.c"
gcc -O2 -g "$dir/gone.c" -o "$dir/gone"
profiled "$dir/gone" 20000
rm "$dir/gone.c"
"$REPORT" --annotate work "$profile" >"$dir/text" 2>&1 || fail "it is an error"
has_text 'gone.c: not found' "$dir/text" || fail "nothing is said about it"
rm "$dir/gone"
"$REPORT" --annotate work "$profile" >"$dir/text" 2>&1 || fail "its name was kept"
has_text 'its code cannot be shown' "$dir/text" || fail "nothing is said about the code"
export XDG_CACHE_HOME=$dir/empty
"$REPORT" --annotate work "$profile" >"$dir/text" 2>&1 && fail "it still has a name"
"$REPORT" --annotate '*' --format csv "$profile" >"$dir/text" 2>"$dir/err" ||
  fail "addresses are all there is"
export XDG_CACHE_HOME=$work/cache

begin "a profile without addresses"
profiled "$PROGRAMS/sites.fentry" 100
"$REPORT" --annotate work "$profile" >"$dir/text" 2>&1
check "status" $? = 2
has_text 'FBLEPROF_LEAVES=1' "$dir/text" || fail "it does not say how to record them"

for mode in fentry gmon mcount mcountc cyg cygclang; do
  begin "coverage $mode"
  same "$PROGRAMS/notes.$mode" mutual
  output=$("$REPORT" --coverage --format csv "$profile")
  grep -Eq '^ping,notes[^,]*,[0-9]+,[0-9]+,[^,]*notes.c,[0-9]+,8,1$' <<<"$output" ||
    fail "ping was entered: $(grep ^ping <<<"$output")"
  grep -Eq '^b2,.*,0,0$' <<<"$output" || fail "b2 was not entered: $(grep ^b2 <<<"$output")"
  check "only the program has hooks" "$(tail -n +2 <<<"$output" | cut -d, -f2 | sort -u)" = "notes.$mode"
  output=$("$REPORT" --coverage=b2 --width 100 "$profile")
  check "one is asked for" "$(head -n 1 <<<"$output")" = \
    "notes.$mode: 0 of 1 functions with hooks were entered (0.0%)"
done
begin "coverage of what has no hooks"
same "$PROGRAMS/notes.plain" mutual
check "it says so" "$("$REPORT" --coverage "$profile")" = \
  'no function has a hook: build with -fpatchable-function-entry=5, -pg -mfentry or -finstrument-functions, or record with --exact'

begin "sampled addresses"
settings=(FBLEPROF_LEAVES=1)
profiled "$PROGRAMS/sites.plain" 50000
"$REPORT" --leaves --lines --all --width 0 "$profile" >"$dir/text"
grep -Eq "work\+0x[0-9a-f]+  sites.c:$(line_of 'hot line')\$" "$dir/text" ||
  fail "they have no offset and line"
check "they are their function's" "$("$REPORT" --leaves --all --fold work "$profile" | grep -c 'work+0x')" = 0

begin "names and lines of what is gone"
cat >"$dir/lines.c" <<'END'
static volatile unsigned sum;
__attribute__((noinline)) static void hot(unsigned long rounds) {
  for (unsigned long i = 0; i < rounds; ++i) sum += (unsigned)i;  // hot line
}
int main(void) { hot(150000000); }
END
if ! gcc -g -O1 -o "$dir/lines" "$dir/lines.c" || ! gcc -O1 -s -o "$dir/nameless" "$dir/lines.c"; then
  fail 'the programs were not built'
fi
settings=(FBLEPROF_LEAVES=1)
profiled "$dir/nameless"
"$REPORT" --self "$profile" >/dev/null 2>"$dir/err"
check "advice where functions have no names" "$(grep -c 'functions without names take' "$dir/err")" = 1
for view in '--by module' --metrics --threads; do
  # shellcheck disable=SC2086  # words
  "$REPORT" $view "$profile" >/dev/null 2>"$dir/err"
  check "$view: no names, no advice" ! -s "$dir/err"
done
profiled "$dir/lines"
"$REPORT" --pack "$profile" >/dev/null
rm "$dir/lines"
check "the packed line" "$("$REPORT" --annotate hot --source --format csv "$profile" 2>/dev/null |
  grep -c 'lines.c,3,')" = 1
