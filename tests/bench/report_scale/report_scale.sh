#!/bin/bash
# The cost of viewing large profiles: report_scale.sh BUILD_DIRECTORY [NODES [THREADS [EVERY]]]. One
# of EVERY contexts has time: 4 for a small tree, 360 for the 7.2 million contexts of a program that
# ran for 20 seconds. Goals at a million contexts: load < 1 s and < 200 MB, any view < 100 ms after
# that. At 7.2 million: the tree and --self <= 1.5 s and <= 700 MB, in total.
set -euo pipefail
build=${1:?build directory} nodes=${2:-1000000} threads=${3:-4} every=${4:-4}
scale=$build/tests/bench/report_scale/report_scale
report=$build/report/fble-prof-report
work=$(mktemp -d "${TMPDIR:-/tmp}/fbleprof-scale.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$scale" generate "$nodes" "$threads" "$work/mlmon.out" "$every"
printf '%s nodes in %s threads, %s MB\n\n' "$nodes" "$threads" \
  "$(($(stat -c %s "$work/mlmon.out") / 1048576))"
printf 'inside one process\n  %-24s %10s %10s %10s\n' step ms 'CPU ms' 'peak MB'
"$scale" measure "$work/mlmon.out" | while IFS=$'\t' read -r what ms cpu mb; do
  printf '  %-24s %10s %10s %10s\n' "$what" "$ms" "$cpu" "$mb"
done
printf '\nthe report as a user runs it\n  %-24s %10s %10s\n' view s 'peak MB'
for view in '' --self --edges --hot --overview --cliques; do
  /usr/bin/time -f '%e %M' -o "$work/time" "$report" $view --no-symbols "$work/mlmon.out" \
    >"$work/out"
  read -r seconds kilobytes <"$work/time"
  printf '  %-24s %10s %10s\n' "${view:-tree}" "$seconds" "$((kilobytes / 1024))"
done
