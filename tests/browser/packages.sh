#!/bin/bash
# packages.sh DIRECTORY: installs the packages of package.json in DIRECTORY/node_modules, once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cmp -s "$here/package.json" "$1/package.json" && [ -d "$1/node_modules/playwright-core" ] && exit 0
cp "$here/package.json" "$1/"
timeout 200 npm install --silent --no-audit --no-fund --prefix "$1"
