#!/bin/bash
# Profiles of other profilers: the totals equal those of the tools that made them. A tool that is
# not installed is left out.
. "$(dirname "$0")/lib.sh"

cat >prog.c <<'C'
#include <stdio.h>
volatile long sink;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void mid(int n) { for (int i = 0; i < 10; i++) leaf(n); }
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) {
  for (int i = 0; i < 100; i++) mid(200000);
  for (int i = 0; i < 3; i++) leaf(1000);
  printf("%d\n", fib(20));
}
C
cat >prog.go <<'G'
package main

import (
	"context"
	"os"
	"runtime/pprof"
)

func work(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i * i % 7
	}
	return
}

func main() {
	out, _ := os.Create("go.pprof")
	pprof.StartCPUProfile(out)
	pprof.Do(context.Background(), pprof.Labels("job", "big"), func(context.Context) { work(3e8) })
	work(2e8)
	pprof.StopCPUProfile()
}
G

# total METRIC ARGS...: the total in a report of these files
total() { "$REPORT" --self --format json --metric "$@" | grep -o '"total":[0-9]*' | cut -d: -f2; }

begin folded
cd "$dir" || exit 1
printf 'main;std::map<int, char>::at(int);x 12\nmain 30\n' >f
check 'its total' "$(total samples f)" = 42
check 'through a pipe' "$(total samples - <f)" = 42
check 'as process substitution' "$(total samples <(cat f))" = 42
check 'compressed' "$(gzip <f | total samples -)" = 42
printf 'main;std::map<int, char>::at(int);x 12\nmain 31\n' >g
"$REPORT" --diff f --all g | has_text '+1 .* main' || check 'a change within chance' found = no
"$REPORT" --diff f g | has_text 'each unit is taken for one sample; chance' || check 'what is assumed' found = no
check 'a change that chance explains' "$("$REPORT" --diff f g | grep -c 'main')" = 0
printf 'main;x 5000\nmain;y 3000\nmain 700\n' >before
printf 'main;x 5000\nmain;y 3000\nmain 800\n' >after
"$REPORT" --diff before after | has_text '+100 .* main' || check 'a change beside equal figures' found = no
"$REPORT" --diff before after | has_text 'taken as exact' || check 'why' found = no
"$REPORT" --self f | has_text 'std::map<int, char>::at(int)\|std::map<…>::at' || check 'names with blanks' found = no

begin 'names in any script'
cd "$dir" || exit 1
# rows FILE: the functions and their own values.
rows() { "$REPORT" --self --all --format csv "$1" | sed -n '2,$p' | cut -d, -f1,2 | sort; }
printf 'main;функция 5\nmain;метод 7\nmain;naïve 9\nmain;nave 11\nmain;λ;μ 2\nmain;λ 0\n' >f
check 'each function has its own row' "$(rows f)" = "$(printf '%s\n' main,0 функция,5 метод,7 naïve,9 nave,11 λ,0 μ,2 | sort)"
for sym in функция метод; do
  printf 'app 1 1.000001:  100 cpu-clock:\n\t    55d0 %s+0x1 (/app)\n\t    55d9 main+0x2 (/app)\n\n' "$sym"
done >script.txt
check 'of perf script, too' "$("$REPORT" --self --format csv script.txt | cut -d, -f1 | grep -c 'функция\|метод')" = 2
cat >names.json <<'J'
{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "main"},
{"name": "a\rb"}, {"name": "a\nb"}, {"name": "a\tb"}, {"name": "a b"}, {"name": "a_b"}, {"name": "a;b"},
{"name": "a:b"}, {"name": "a 1"}, {"name": "a_1"}]}, "profiles": [{"type": "sampled", "name": "t", "unit": "none",
"startValue": 0, "endValue": 9, "samples": [[0], [1], [2], [3], [4], [5], [6], [7], [8], [9]],
"weights": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}]}
J
check 'odd characters tell names apart' "$("$REPORT" --self --all --format csv names.json | wc -l)" = 11

begin perf
cd "$dir" || exit 1
if gcc -g -O1 -fno-omit-frame-pointer -o prog ../prog.c &&
  perf record -q -e cpu-clock -F 499 -g -o perf.data ./prog >/dev/null 2>&1; then
  perf script -i perf.data >script.txt 2>/dev/null
  count=$(perf report -i perf.data --stdio 2>/dev/null | sed -n 's/^# Event count (approx.): //p')
  check 'sum of periods as perf report has it' "$(total cpu-clock script.txt)" = "$count"
  check 'through a pipe' "$(perf script -i perf.data 2>/dev/null | total cpu-clock -)" = "$count"
  check 'samples' "$(total samples script.txt)" = "$(grep -c cpu-clock: script.txt)"
  perf script -i perf.data -F +pid 2>/dev/null >pids.txt
  check 'with process ids' "$(total cpu-clock pids.txt)" = "$count"
  perf script -i perf.data -G 2>/dev/null >flat.txt
  check 'without stacks' "$(total cpu-clock flat.txt)" = "$count"
  self=$(perf report -i perf.data --stdio --no-children -g none -F sample,sym 2>/dev/null |
    awk '$3 == "leaf" || $2 == "leaf" {for (i = 1; i < NF; i++) if ($i ~ /^[0-9]+$/) print $i}')
  mine=$("$REPORT" --self --metric samples --format csv script.txt | awk -F, '$1 == "leaf" {print $2}')
  check 'samples of one function' "$mine" = "$self"
  "$REPORT" perf.data 2>err
  check 'perf.data itself: status' $? = 2
  check 'perf.data itself: one line' "$(wc -l <err)" = 1
else
  echo 'no perf here: left out'
fi

begin pprof
cd "$dir" || exit 1
if command -v go >/dev/null; then
  cp ../prog.go . && HOME=$PWD GOCACHE=$PWD/cache GOFLAGS=-mod=mod go run prog.go
  read -r samples ns < <(go tool pprof -raw go.pprof 2>/dev/null |
    awk '/^Locations/ {exit} $2 ~ /:$/ && $1 ~ /^[0-9]+$/ {s += $1; n += $2} END {print s, n}')
  check 'samples' "$(total samples go.pprof)" = "$samples"
  check 'nanoseconds' "$(total cpu go.pprof)" = "$ns"
  go tool pprof -proto go.pprof 2>/dev/null >again.pb.gz
  check 'as go tool pprof -proto writes it' "$(total cpu again.pb.gz)" = "$ns"
  gzip -dc go.pprof >expanded
  check 'not compressed' "$(total cpu expanded)" = "$ns"
  "$REPORT" --split-by label:job go.pprof | has_text 'job=big' || check 'labels' found = no
  chmod -R u+w . # the cache is read-only
else
  echo 'no go here: left out'
fi

begin gmon
cd "$dir" || exit 1
if gcc -g -O0 -pg -o prog ../prog.c 2>/dev/null && ./prog >/dev/null; then
  "$REPORT" --edges --all --format csv gmon.out prog |
    awk -F, 'NR > 1 && $1 != "[root]" && $3 > 0 {print $1, $2, $3}' | sort >mine
  # Callees of each function, from the lines below its own.
  gprof -b -q prog gmon.out | awk '
    /^-----/ {self = ""; next}
    /^\[/ {self = $(NF - 1); if ($5 ~ /\+/) {split($5, parts, "+"); print self, self, parts[2]} next}
    self != "" && NF >= 4 {n = $(NF - 2); sub(/\/.*/, "", n); if ($(NF - 1) != self) print self, $(NF - 1), n}' |
    sort >theirs
  check 'arcs as gprof has them' "$(cat mine)" = "$(cat theirs)"
  "$REPORT" --edges --all --format csv gmon.out prog >plain.csv
  for way in stdin pipe gzip; do
    case $way in
      stdin) "$REPORT" --edges --all --format csv - prog <gmon.out ;;
      pipe) "$REPORT" --edges --all --format csv <(cat gmon.out) prog ;;
      gzip) gzip -k gmon.out && "$REPORT" --edges --all --format csv gmon.out.gz prog ;;
    esac >way.csv 2>err
    check "$way: status" $? = 0
    check "$way: the same" "$(diff plain.csv way.csv)" = ""
  done
  "$REPORT" - prog <plain.csv >/dev/null 2>err
  check 'a program beside another format' $? = 2
  "$REPORT" gmon.out 2>err
  check 'without its program: status' $? = 2
  check 'without its program: one line' "$(wc -l <err)" = 1
fi

begin damage
cd "$dir" || exit 1
printf 'main;a 1\nmain;b\n' >cut.folded
printf '\x1f\x8bnonsense' >bad.gz
printf 'gmon\1\0\0\0' >bad.gmon
: >empty
printf '{"a": 1}' >json
for file in cut.folded bad.gz bad.gmon empty json /bin/true /nonexistent .; do
  "$REPORT" "$file" >out 2>err
  check "$file: status" $? = 2
  check "$file: one line" "$(wc -l <err)" = 1
  check "$file: nothing shown" "$(wc -c <out)" = 0
done
# A format that is written but not read is named.
printf 'main;a 1\n' >good
for format in callgrind otlp firefox json csv dot svg graphml html; do
  "$REPORT" --export $format -o "written.$format" good
  "$REPORT" "written.$format" >out 2>err
  check "$format: status" $? = 2
  check "$format: one line" "$(grep -c 'this is .* which is written but not read here' err)" = 1
done
"$REPORT" --tolerant good cut.folded bad.gz good >out 2>err
check 'tolerant: status' $? = 0
check 'tolerant: a line a skipped file' "$(grep -c skipped err)" = 2
check 'tolerant: the others are summed' "$(total samples --tolerant good cut.folded good 2>/dev/null)" = 2
"$REPORT" --tolerant cut.folded bad.gz >out 2>err
check 'tolerant, none left: status' $? = 2

begin many
cd "$dir" || exit 1
for i in $(seq 300); do printf 'main;f%d;g 1\nmain;same 2\n' $((i % 7)) >"file$i"; done
check 'sum of many' "$(total samples file*)" = 900
check 'split by file' "$("$REPORT" --split-by file --format csv file* | awk -F, '$1 == 1' | wc -l)" = 300
