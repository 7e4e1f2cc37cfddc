#!/bin/bash
# The tools that exports are meant for read them and find the same figures as the views.
set -u
: "${LIB:?path of libfbleprof.so}" "${REPORT:?path of fble-prof-report}"
tests=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/fbleprof.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset "${!FBLEPROF_@}" LD_PRELOAD
failures=0
for tool in go protoc callgrind_annotate dot python3 g++; do
  command -v $tool >/dev/null && continue
  echo "FAIL there is no $tool: run scripts/setup"
  exit 1
done

# compare PROFILE OPTIONS...: all formats, with these filters
compare() {
  echo "$*"
  python3 "$tests/oracle/check_exports.py" "$REPORT" "$work" "$@" || failures=$((failures + 1))
}

# Recursion, tail calls, threads, templates, and blocks with names that a format could misread.
cp "$tests/oracle/exports_workload.cc" .
g++ -O2 -g -pg -mfentry -pthread -I"$tests/../libprof/include" exports_workload.cc -o workload ||
  exit 1
FBLEPROF_OUT=plain.out LD_PRELOAD=$LIB ./workload || exit 1
compare plain.out
compare plain.out --split-by thread
compare plain.out --split-by process --split-by thread --select work
compare plain.out --select work --exclude fib --fold two

FBLEPROF_LEAVES=1 FBLEPROF_CALLSITES=1 FBLEPROF_OUT=leaves.out LD_PRELOAD=$LIB ./workload || exit 1
compare leaves.out
compare leaves.out --leaves --inlines --split-by thread
compare leaves.out --no-symbols

# Contexts without folding, 5000 deep.
FBLEPROF_COMPACT=none FBLEPROF_OUT=deep.out LD_PRELOAD=$LIB ./workload deep || exit 1
compare deep.out

# Without graphviz there is one clear line.
mkdir nothing
PATH=$work/nothing "$REPORT" --export svg -o drawn plain.out 2>err
if [ $? != 2 ] || [ "$(wc -l <err)" != 1 ] || ! grep -q graphviz err; then
  echo "FAIL svg without dot: $(cat err)"
  failures=$((failures + 1))
fi
[ "$failures" = 0 ]
