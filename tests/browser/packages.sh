#!/bin/bash
# packages.sh DIRECTORY: installs the packages of package.json in DIRECTORY/node_modules, once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
# Tests run side by side, and two installations at once leave a package half done.
exec 9>"$1/lock"
flock 9
cmp -s "$here/package.json" "$1/installed.json" && exit 0
cp "$here/package.json" "$1/"
timeout 200 npm install --silent --no-audit --no-fund --prefix "$1"
cp "$here/package.json" "$1/installed.json"
