#!/bin/bash
# The lists of a file (--export html) give the figures of --select, --exclude and --fold.
set -u
: "${REPORT:?path of fble-prof-report}"
here=$(cd "$(dirname "$0")" && pwd)
command -v node >/dev/null || exit 77
work=$(mktemp -d "${TMPDIR:-/tmp}/fbleprof.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cp "$here/../../report/web/page/contexts.js" contexts.mjs
cp "$here/lists.mjs" .
node lists.mjs "$REPORT"
