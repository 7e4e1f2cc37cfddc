#!/bin/bash
# Tests the page in Chromium: a served profile, a running program, and a file.
set -u
: "${LIB:?path of libfbleprof.so}" "${REPORT:?path of fble-prof-report}" "${CACHE:?a directory}"
here=$(cd "$(dirname "$0")" && pwd)
chromium=$(command -v chromium) && command -v npm node perl >/dev/null || exit 77
"$here/packages.sh" "$CACHE/page" || exit 77
work=$(mktemp -d "${TMPDIR:-/tmp}/fbleprof.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset "${!FBLEPROF_@}" LD_PRELOAD
NODE_PATH=$CACHE/page/node_modules timeout 500 node "$here/page.cjs" "$chromium" "$REPORT" "$LIB" "$work"
