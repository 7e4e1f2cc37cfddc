#!/bin/bash
# Compares two profiles, as text and as a gate for CI.
. "$(dirname "$0")/lib.sh"

printf 'main;parse;lex 10000\nmain;parse 5000\nmain;old 1000\nmain;io 4000\n' >"$work/base"
printf 'main;parse;lex 12000\nmain;parse 5000\nmain;new 3000\nmain;io 4000\n' >"$work/now"
cd "$work" || exit 1
status() { # status WANTED ARGS...
  local wanted=$1
  shift
  "$REPORT" "$@" >out 2>err
  check "status of $*" $? = "$wanted"
}
row() { "$REPORT" "${@:2}" --format csv | grep "^$1,"; }

name=table
check 'new' "$(row new --diff base --self now)" = 'new,0,3000,0,3000,0,0,0,new,1'
check 'gone' "$(row old --diff base --self now)" = 'old,1000,0,1000,0,0,0,0,gone,1'
check 'changed' "$(row parse --diff base --dominated now)" = 'parse,5000,5000,15000,17000,0,0,0,both,1'
check 'normalised, then filtered' "$(row parse --diff base --self --normalize --select parse now | cut -d, -f1-5)" = \
  "$(row parse --diff base --self --normalize now | cut -d, -f1-5)"
check 'normalised' "$(row parse --diff base --self --normalize now)" = 'parse,6000,5000,18000,17000,0,0,0,both,1'

name=tree
check 'csv' "$("$REPORT" --diff base now --format csv | grep -c ,)" = 8
check 'csv of one level' "$("$REPORT" --diff base now --depth 1 --format csv | grep -c ,)" = 3
check 'csv of large changes' "$("$REPORT" --diff base now --min 10 --format csv | cut -d, -f2 | xargs)" = 'name [root] main new'
"$REPORT" --diff base now | has_text '+20.0%.*lex' || check 'relative change' shown = no
"$REPORT" --diff base now | has_text 'gone.*old' || check 'what is gone' shown = no
"$REPORT" --diff base now --format json | has_text '"view":"diff-tree"' || check json shown = no
check 'selection' "$("$REPORT" --diff base --select parse now --format csv | grep -c 'io\|new')" = 0

name=gate
status 0 --diff base now --fail-if '+20% samples' --fail-if '-0 samples in parse*'
status 1 --diff base now --fail-if '+19.9% samples'
check 'one line' "$(wc -l <err)" = 1
status 1 --diff base now --fail-if '+5% samples in parse*' --fail-if '+0 samples self in lex'
check 'a line a rule' "$(wc -l <err)" = 2
has_text '15,000 -> 17,000 (+2,000, +13.33%)' err || check 'the measured change' shown = no
status 0 --diff base base --fail-if '0 samples'
status 1 --diff base now --fail-if '0 samples in new'
status 1 --diff base now --fail-if '-50% samples in old'
status 0 --diff base now --normalize --fail-if '+0 samples'
for rule in 'x' '5' '5x samples' '5% beer' '5% samples in nothing' '5% samples on x' '5ms samples'; do
  status 2 --diff base now --fail-if "$rule"
  check "$rule: one line" "$(wc -l <err)" = 1
done
status 2 --fail-if '5% samples' now
status 2 --normalize now
status 2 --diff /nonexistent now
status 2 --diff base --edges now

name=counts
# A program's calls and ticks are the same every time: a gate without tolerance holds.
cd "$work" || exit 1
FBLEPROF_OUT=$work/one LD_PRELOAD=$LIB "$PROGRAMS/notes.fentry" deep 1000 >/dev/null 2>&1
FBLEPROF_OUT=$work/two LD_PRELOAD=$LIB "$PROGRAMS/notes.fentry" deep 1000 >/dev/null 2>&1
status 0 --diff one --metric calls two --fail-if '0 calls' --fail-if '0 calls in deep*'
FBLEPROF_OUT=$work/three LD_PRELOAD=$LIB "$PROGRAMS/notes.fentry" deep 1001 >/dev/null 2>&1
status 1 --diff one --metric calls three --fail-if '+0 calls in deep*'
check 'the tree says so' "$("$REPORT" --min 100 --diff one three |
  grep -c 'calls changed in 1 of them')" = 1

# The spread of several runs is that of the metric that the rule names, whatever is shown.
for run in 1 2; do
  FBLEPROF_OUT=$work/short$run LD_PRELOAD=$LIB "$PROGRAMS/count.plain" 34 >/dev/null 2>&1
  FBLEPROF_OUT=$work/long$run LD_PRELOAD=$LIB "$PROGRAMS/count.plain" 37 >/dev/null 2>&1
done
for shown in cpu samples; do
  status 1 --diff short1,short2 --metric $shown long1,long2 --fail-if '+5% samples'
  status 1 --diff short1,short2 --metric $shown long1,long2 --fail-if '+5% cpu'
done

# So it is on the page, where any metric may be chosen.
"$REPORT" --serve short1,short2 --diff long1 >address 2>err &
server=$!
for _ in $(seq 100); do
  grep -q token address && break
  sleep 0.1
done
python3 - "$(grep -o 'http[^ ]*' address)" >page <<'END'
import http.cookiejar, sys, urllib.request
jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
browser = urllib.request.build_opener(jar)
browser.open(sys.argv[1])
print(browser.open(sys.argv[1].split("?")[0] + "tree?base=long1&metric=samples").read().decode())
END
kill $server
has_text 'means of 1 and 2 runs' page || check 'the runs of the chosen metric' shown = no
has_text 'metric samples --diff long1 short1,short2' page || check 'the command with runs' shown = no

# Two builds of one program, with helpers that moved between them.
cd "$work" || exit 1
build() { # build DIRECTORY NAME FLAGS...
  mkdir -p "$1"
  gcc -O1 -pg -mfentry "${@:3}" -c -o "$1/app.o" app.c
  gcc -Wl,--build-id -o "$1/$2" "$1/app.o" || fail "$1/$2 was not built"
}
run_app() { FBLEPROF_OUT=$work/$2 LD_PRELOAD=$LIB "./$1" >/dev/null 2>&1; }
called() { # called FUNCTION PROFILE...: base and new calls, and which has it
  row "$1" --self --metric calls --diff "${@:2}" | cut -d, -f2,3,9
}
cat >app.c <<'END'
#include <stdio.h>
#ifdef MORE
__attribute__((noinline)) void added(void) { puts("added"); }
#endif
__attribute__((noinline)) void work(void) { puts("work"); }
int main(void) {
#ifdef MORE
  added();
#endif
  for (int i = 0; i < 7; ++i) work();
}
END
build v1 app
build v2 app -DMORE
build v3 renamed -DMORE
mkdir -p copy
cp v1/app copy/app
for run in v1/app v2/app v3/renamed copy/app; do run_app "$run" "${run%/*}.ml"; done

name='builds in several directories'
for new in v2 v3 copy; do
  check "$new: work" "$(called work v1.ml $new.ml)" = 7,7,both
done
check 'added' "$(called added v1.ml v2.ml)" = 0,1,new
check 'sum' "$("$REPORT" v1.ml v2.ml copy.ml --self --metric calls --format csv |
  grep '^work,' | cut -d, -f2)" = 21
"$REPORT" --export pprof -o v1.pb.gz v1.ml
check 'an exported base' "$(called work v1.pb.gz v2.ml)" = 7,7,both

name='a rule for a source file'
for flags in -DLESS -DMORE; do
  build "g$flags" app -g "$flags"
  run_app "g$flags/app" "g$flags.ml"
done
status 0 --diff g-DLESS.ml g-DMORE.ml --fail-if '+1 calls in file:app.c'
status 1 --diff g-DLESS.ml g-DMORE.ml --fail-if '+0 calls in file:app.c'

name='rebuilt in place'
build place app
run_app place/app place1.ml
"$REPORT" place1.ml >/dev/null
build place app -DMORE
run_app place/app place2.ml
status 0 --diff place1.ml --metric calls place2.ml --fail-if '0 calls in work'
check 'the names were kept' ! -s err
check 'work' "$(called work place1.ml place2.ml)" = 7,7,both
XDG_CACHE_HOME=$work/empty status 0 --diff place1.ml place2.ml
has_text 'before you rebuild: fble-prof-report --pack' err || check 'the remedy' shown = no
check 'no advice about symbols that were there' "$(grep -c 'functions without names' err)" = 0

name='times from a plain run'
for mode in plain fentry; do
  FBLEPROF_OUT=$work/$mode.ml LD_PRELOAD=$LIB "$PROGRAMS/unhooked.$mode" 1500 >/dev/null
done
sum() { "$REPORT" --self --metric "$1" --format csv "${@:2}" | awk -F, 'NR > 1 {sum += $2} END {print sum}'; }
check 'the time of the plain run' "$(sum cpu --times-from plain.ml fentry.ml)" = "$(sum cpu plain.ml)"
check 'calls as they were' "$(sum calls --times-from plain.ml fentry.ml)" = "$(sum calls fentry.ml)"
status 2 --times-from fentry.ml plain.ml
has_text 'no calls were counted' err || check 'why' shown = no
status 2 --times-from base fentry.ml
has_text 'holds samples, no time' err || check 'why' shown = no
status 2 --times-from plain.ml --diff plain.ml fentry.ml
status 2 --times-from plain.ml --metric overhead fentry.ml

name='maxima of several runs'
cat >sleeps.c <<'C'
#include <unistd.h>
int main(void) {
  for (int i = 0; i < 3; i++) usleep(20000);
}
C
gcc -O1 sleeps.c -o sleeps
FBLEPROF_OUT=$work/sleeps.ml FBLEPROF_WAITS=1 LD_PRELOAD=$(dirname "$LIB")/libfbleprof_wait.so:$LIB ./sleeps
status 0 --diff sleeps.ml sleeps.ml,sleeps.ml,sleeps.ml --fail-if '0 longest-wait' --metric longest-wait
check 'the longest wait did not change' "$(grep -c '(0, =); the greatest of 1 and 3 runs' out)" = 1

name='folded stacks beside a profile'
status 0 --diff fentry.ml now
check 'what they are taken for' "$(grep -c 'does not say what it counts; taken for cpu' err)" = 1
check 'so they count' "$(grep -c 'counts for nothing' err)" = 0

name='what was not measured cannot be gated'
status 2 --diff fentry.ml --fail-if '+5% ticks' fentry.ml
has_text 'ticks was not measured in either' err || check 'why' shown = no
status 2 --diff fentry.ml --fail-if '+5% calls' plain.ml
has_text 'calls was not measured in the profile' err || check 'why' shown = no
status 0 --diff fentry.ml --fail-if '+0 calls' fentry.ml
