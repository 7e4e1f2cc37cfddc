#!/bin/bash
# TypeScript finds no type errors in the page's modules.
set -u
: "${CACHE:?a directory}"
here=$(cd "$(dirname "$0")" && pwd)
command -v npm node >/dev/null || exit 77
"$here/packages.sh" "$CACHE/page" || exit 77
exec "$CACHE/page/node_modules/.bin/tsc" --noEmit --allowJs --checkJs --strict --target es2022 --module es2022 \
  --moduleResolution bundler --lib es2023,dom,dom.iterable "$here"/../../report/web/page/*.js
