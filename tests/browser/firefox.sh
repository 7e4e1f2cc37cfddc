#!/bin/bash
# The Firefox Profiler's own code loads our export, and its call trees have the values of our views.
# It needs no browser: profiler-cli is the profiler's front end without its pages.
set -u
: "${LIB:?path of libfbleprof.so}" "${REPORT:?path of fble-prof-report}" "${CACHE:?a directory}"
here=$(cd "$(dirname "$0")" && pwd)
command -v npm node >/dev/null || exit 77
tool=$CACHE/firefox/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js
mkdir -p "$CACHE/firefox"
if ! [ -f "$tool" ]; then
  timeout 120 npm install --silent --no-save --prefix "$CACHE/firefox" @firefox-devtools/profiler-cli@0.10.0 ||
    exit 77
fi
node "$tool" --version >/dev/null 2>&1 || exit 77
work=$(mktemp -d "${TMPDIR:-/tmp}/fbleprof.XXXXXX")
export PROFILER_CLI_SESSION_DIR=$work/session
trap 'node "$tool" stop --all >/dev/null 2>&1; rm -rf "$work"' EXIT
cd "$work" || exit 1
unset "${!FBLEPROF_@}" LD_PRELOAD
g++ -O2 -g -pg -mfentry -pthread -I"$here/../../libprof/include" \
  "$here/../oracle/exports_workload.cc" -o workload || exit 1
FBLEPROF_LEAVES=1 FBLEPROF_OUT=plain.out LD_PRELOAD=$LIB ./workload || exit 1
FBLEPROF_COMPACT=none FBLEPROF_OUT=deep.out LD_PRELOAD=$LIB ./workload deep || exit 1
failures=0
compare() {
  echo "$*"
  python3 "$here/firefox.py" "$REPORT" "$tool" "$@" || failures=$((failures + 1))
}
compare plain.out
compare plain.out --leaves --inlines --split-by thread
compare plain.out --select work --fold spin
compare deep.out
[ "$failures" = 0 ]
