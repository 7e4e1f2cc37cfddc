#!/bin/bash
# In Chromium, the HTML page and speedscope show the same figures as the views.
set -u
: "${LIB:?path of libfbleprof.so}" "${REPORT:?path of fble-prof-report}" "${CACHE:?a directory}"
here=$(cd "$(dirname "$0")" && pwd)
chromium=$(command -v chromium) && command -v npm node >/dev/null || exit 77
mkdir -p "$CACHE/browser"
if ! [ -d "$CACHE/browser/node_modules/speedscope" ]; then
  timeout 120 npm install --silent --no-save --prefix "$CACHE/browser" playwright-core speedscope@1.25.0 ||
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/fbleprof.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset "${!FBLEPROF_@}" LD_PRELOAD
g++ -O2 -g -pg -mfentry -pthread -I"$here/../../libprof/include" \
  "$here/../oracle/exports_workload.cc" -o workload || exit 1
FBLEPROF_OUT=plain.out LD_PRELOAD=$LIB ./workload || exit 1
FBLEPROF_COMPACT=none FBLEPROF_OUT=deep.out LD_PRELOAD=$LIB ./workload deep || exit 1
for profile in plain deep; do
  for format in html json speedscope; do
    "$REPORT" --export $format -o $profile.$format $profile.out || exit 1
  done
done
NODE_PATH=$CACHE/browser/node_modules node "$here/exports.cjs" "$chromium" "$work" \
  "$CACHE/browser/node_modules/speedscope/dist/release/index.html"
